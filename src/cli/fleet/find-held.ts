// Finds the object that a hold is put on.
import type { KubeObject } from '#api/schema/object.ts'
import { findObject } from '#explain/objects/find-object.ts'
import type { KubeClient } from '#kube/client.ts'
import { kindCalled } from './target.ts'

/** The held object in the user's words: `set/base`. */
export const findHeld = (client: KubeClient, { kind, name = '' }: HeldTarget, what: string): Promise<KubeObject> =>
  findObject(client, kindCalled(kind), name, what.split('/')[0])

interface HeldTarget {
  readonly kind: string
  readonly name?: string
}
