// Finds the object that a user named. A missing one is an error that names similar ones, so that a typo never looks like success.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import { inspectErrors } from './inspect-errors.ts'
import { kindCalled } from './target.ts'

/** What Kubernetes accepts as a name; anything else names nothing. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/** Limit of names searched for a suggestion. */
const MOST_NAMES = 500

const namespaceOf = (type: ResourceType): { readonly namespace?: string } =>
  type.namespaced ? { namespace: SYSTEM_NAMESPACE } : {}

/** A word that cannot be a name names nothing, and never becomes part of an address. */
export const lookUp = async <T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  name: string,
): Promise<T | undefined> => (NAME.test(name) ? client.get(type, { name, ...namespaceOf(type) }) : undefined)

/** `noun` is the user's word for the kind. */
export async function findObject<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  name: string,
  noun = type.kind.toLowerCase(),
): Promise<T> {
  const object = await lookUp(client, type, name)
  if (object !== undefined) return object
  throw absent(noun, name, await namesOf(client, type), type.plural)
}

/** The held object in the user's words: `set/base`. */
export const findHeld = (client: KubeClient, { kind, name = '' }: HeldTarget, what: string): Promise<KubeObject> =>
  findObject(client, kindCalled(kind), name, what.split('/')[0])

interface HeldTarget {
  readonly kind: string
  readonly name?: string
}

export function absent(noun: string, name: string, known: readonly string[], plural: string): KubeNodeError {
  const near = didYouMean(name, known)
  const hint = near === undefined ? '' : ` (did you mean ${noun}/${near}?)`
  return new KubeNodeError(inspectErrors.KN1313({ what: `${noun}/${name}`, hint, plural }))
}

/** Without the right to list, or the kind, there is no suggestion. */
export async function namesOf(client: KubeClient, type: ResourceType): Promise<readonly string[]> {
  try {
    const { items } = await client.list(type, { limit: MOST_NAMES, ...namespaceOf(type) })
    return items.map((o) => o.metadata.name ?? '')
  } catch (e) {
    if (isApiError(e)) return []
    throw e
  }
}
