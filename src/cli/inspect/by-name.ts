// Finds the kind of an object that a user named without one: `kubenode why base`. One match is taken; several are listed as commands.
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import { kindCalled, type Named, named, type NameOnly } from './target.ts'
import { lookUp, namesOf, nearName } from './find-object.ts'
import { inspectErrors } from './inspect-errors.ts'

/** What people name in conversation; other objects need their kind. */
const LOOKED_FOR = [
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
  /** Of a command that shows few kinds only. */
  readonly nouns?: readonly string[]
}

export const withKinds = (wanted: readonly (Named | NameOnly)[], search: Search): Promise<readonly Named[]> =>
  Promise.all(wanted.map(async (one) => (one.type === undefined ? withKind(one.name, search) : one)))

async function withKind(name: string, search: Search): Promise<Named> {
  const { client, namespace, command, nouns = LOOKED_FOR } = search
  const forbidden: unknown[] = []
  const asked = nouns.map(async (noun) => {
    try {
      const found = await lookUp(client, kindCalled(noun), { name, namespace })
      return found === undefined ? [] : [`${noun}/${name}`]
    } catch (e) {
      if (!isApiError(e) || e.status !== 403) throw e
      forbidden.push(e)
      return []
    }
  })
  const found = (await Promise.all(asked)).flat()
  const [only, ...others] = found
  if (only !== undefined && others.length === 0) return named([only])
  if (only !== undefined)
    throw new KubeNodeError(
      inspectErrors.KN1359({ name, commands: found.map((what) => `kubenode ${command} ${what}`).join(', or ') }),
    )
  // What may not be read may be there.
  if (forbidden.length > 0) throw forbidden[0]
  throw await noObject(name, search)
}

async function noObject(name: string, search: Search): Promise<KubeNodeError> {
  const { client, namespace, nouns = LOOKED_FOR } = search
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
  return new KubeNodeError(inspectErrors.KN1380({ name: JSON.stringify(name), hint }))
}
