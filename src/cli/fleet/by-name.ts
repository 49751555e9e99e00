// Finds the kind of an object that a user named without one: `kubenode why base`. A single match is used, and for a Machine and its own Node the Machine, which
// explains both. Several matches are listed as commands.
import type { Machine } from '#api/kinds/machine.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { kindCalled, type Named, named, type NameOnly } from './target.ts'
import { findOne, namesOf, nearName } from '#explain/objects/find-object.ts'
import { placeOf } from '#explain/objects/place.ts'
import { inspectErrors } from '#explain/objects/objects-errors.ts'

/** What people name in conversation. Other objects need their kind. */
const SEARCHED = [
  'machine',
  'node',
  'set',
  'machineset',
  'canary',
  'rule',
  'job',
  'permit',
  'release',
  'source',
  'pipeline',
  'cluster',
] as const

export interface Search {
  readonly client: KubeClient
  readonly namespace: string
  /** As typed, for the list of commands: `why`. */
  readonly command: string
  /** For commands that show only some kinds. */
  readonly nouns?: readonly string[]
  /** For commands that show records of each object: a Machine and its Node are two. */
  readonly withNode?: boolean
}

export async function withKinds(wanted: readonly (Named | NameOnly)[], search: Search): Promise<readonly Named[]> {
  const meant = wanted.map(async (one) => (one.type === undefined ? withKind(one.name, search) : [one]))
  return (await Promise.all(meant)).flat()
}

interface Found {
  readonly noun: string
  readonly object: KubeObject
}

async function withKind(name: string, search: Search): Promise<readonly Named[]> {
  const { client, namespace, command, nouns = SEARCHED } = search
  const forbidden: unknown[] = []
  const asked = nouns.map(async (noun) => {
    try {
      const object = await findOne(client, kindCalled(noun), { name, namespace })
      return object === undefined ? [] : [{ noun, object }]
    } catch (e) {
      if (!isApiError(e) || e.status !== 403) throw e
      forbidden.push(e)
      return []
    }
  })
  const found = (await Promise.all(asked)).flat()
  const meant = search.withNode === true || !isOneHost(found) ? found : found.filter(({ noun }) => noun === 'machine')
  if (meant.length > 1 && !isOneHost(meant)) {
    const commands = found.map(({ noun }) => `kubenode ${command} ${noun}/${name}`)
    throw new KubeNodeError(inspectErrors.KN1325_kinds({ name, commands: commands.join(', or ') }))
  }
  if (meant.length > 0) return meant.map(({ noun }) => named([`${noun}/${name}`]))
  // An object may exist where the caller may not read.
  if (forbidden.length > 0) throw forbidden[0]
  throw await noObject(name, search)
}

/** A Machine and the Node in its status. */
function isOneHost(found: readonly Found[]): boolean {
  const own = found.find(({ noun }) => noun === 'machine')?.object as Machine | undefined
  const node = found.find(({ noun }) => noun === 'node')?.object
  return found.length === 2 && node !== undefined && own?.status?.nodeRef?.name === node.metadata.name
}

async function noObject(name: string, search: Search): Promise<KubeNodeError> {
  const { client, namespace, nouns = SEARCHED } = search
  const listed = await Promise.all(
    nouns.map(async (noun) =>
      (await namesOf(client, kindCalled(noun), namespace)).map((known) => ({ what: `${noun}/${known}`, known })),
    ),
  )
  const all = listed.flat()
  const near = nearName(
    name,
    all.map(({ known }) => known),
  )
  const found = all.find(({ known }) => known === near)
  const hint = found === undefined ? '' : ` (did you mean ${found.what}?)`
  return new KubeNodeError(inspectErrors.KN1313_name({ name: JSON.stringify(name), place: placeOf(client), hint }))
}
