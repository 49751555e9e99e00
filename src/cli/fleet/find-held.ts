// Finds the object to put a hold on.
import type { KubeObject } from '#api/schema/object.ts'
import { findObject } from '#explain/objects/find-object.ts'
import type { KubeClient } from '#kube/client.ts'
import { kindCalled } from './target.ts'

/** The held object as the user typed it: `set/base`. */
export const findHeld = (client: KubeClient, { kind, name = '' }: HeldTarget, what: string): Promise<KubeObject> =>
  findObject(client, kindCalled(kind), name, what.split('/')[0])

interface HeldTarget {
  readonly kind: string
  readonly name?: string
}
