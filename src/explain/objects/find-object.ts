// Finds the object that a user named. A missing object is an error that suggests similar names, so that a typo never looks like success.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { inspectErrors } from './objects-errors.ts'
import { placeOf } from './place.ts'

/** What Kubernetes accepts as a name; other words name no object. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/** Limit of names searched for a suggestion. */
const MOST_NAMES = 500

/** As kubectl: the user's namespace, else the context's. But KubeNode keeps nothing in `default`, so the last resort is its own namespace. */
export const shownNamespace = (given: string | undefined, ofContext: string | undefined): string =>
  given ?? ofContext ?? SYSTEM_NAMESPACE

const namespaceOf = (type: ResourceType, namespace = SYSTEM_NAMESPACE): { readonly namespace?: string } =>
  type.namespaced ? { namespace } : {}

/** A name, possibly in another namespace than KubeNode's own. */
export type Place = string | { readonly name: string; readonly namespace: string | undefined }

const placed = (place: Place) => (typeof place === 'string' ? { name: place, namespace: undefined } : place)

const isNamespace = (text: string | undefined): boolean =>
  text === undefined || /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)

/** A word that cannot be a name matches no object, and never becomes part of an address. */
export const findOne = async <T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  place: Place,
): Promise<T | undefined> => {
  const { name, namespace } = placed(place)
  return NAME.test(name) && isNamespace(namespace)
    ? client.get(type, { name, ...namespaceOf(type, namespace) })
    : undefined
}

/** `noun`: the user's word for the kind. */
export async function findObject<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  place: Place,
  noun = type.kind.toLowerCase(),
): Promise<T> {
  const { name, namespace } = placed(place)
  const object = await findOne(client, type, place)
  if (object !== undefined) return object
  const known = isNamespace(namespace) ? await namesOf(client, type, namespace) : []
  const isEmpty = known.length === 0 && !type.namespaced
  const hint = isEmpty ? await (await import('./hub-hint.ts')).clustersHint(client) : ''
  throw absent({ client, noun, name, known, plural: type.plural }, hint)
}

/** Machines are named after their set: `workers` is the beginning of `workers-x7k2p`. */
export const nearName = (name: string, known: readonly string[]): string | undefined =>
  didYouMean(
    name,
    known.filter((one) => isTypo(name, one)),
  ) ?? known.find((one) => one.startsWith(`${name}-`))

/** The suffix that a set, or Kubernetes, adds to generated names. */
const GENERATED = /^(.+-)([a-z0-9]{5})$/

/** Two machines of one set share most of their names, but one is not a typo of the other: compare only their suffixes. */
function isTypo(name: string, one: string): boolean {
  const [, asked, end = ''] = GENERATED.exec(name) ?? []
  const [, stem, own = ''] = GENERATED.exec(one) ?? []
  return asked === undefined || asked !== stem || didYouMean(end, [own]) !== undefined
}

export interface Absent {
  readonly client: Pick<KubeClient, 'place'>
  readonly noun: string
  readonly name: string
  /** Existing names of the kind. */
  readonly known: readonly string[]
  readonly plural: string
}

export function absent({ client, noun, name, known, plural }: Absent, otherwise = ''): KubeNodeError {
  const near = nearName(name, known)
  const hint = near === undefined ? otherwise : ` (did you mean ${noun}/${near}?)`
  return new KubeNodeError(
    inspectErrors.KN1313_object({ what: `${noun}/${name}`, place: placeOf(client), hint, plural }),
  )
}

/** Without the right to list, or without the kind, there is no suggestion. */
export async function namesOf(client: KubeClient, type: ResourceType, namespace?: string): Promise<readonly string[]> {
  try {
    const { items } = await client.list(type, { limit: MOST_NAMES, ...namespaceOf(type, namespace) })
    return items.map((o) => o.metadata.name ?? '')
  } catch (e) {
    if (isApiError(e)) return []
    throw e
  }
}
