// Whether the name servers of the node answer. Any answer counts, "no such name" and a refusal included: only silence, a closed port and a failed server do not.
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { DetectorSettings } from '#api/agent-config/detector-settings.ts'
import { readingOf } from '../hardware/finding.ts'
import type { Reading } from './reading.ts'

/** A name server that answers one of these works; the name may be in a hosts file only. */
const ANSWERED: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EREFUSED'])
const TRIES = 2

/** What to ask for: the names of the settings, else that of the API server. None, if it has none: nothing can be concluded then. */
export function namesToAsk(
  { names }: Pick<DetectorSettings['nameLookups'], 'names'>,
  server: string,
): readonly string[] {
  if (names.length > 0) return names
  const host = URL.canParse(server) ? new URL(server).hostname.replaceAll(/[[\]]/g, '') : ''
  return host === '' || isIP(host) !== 0 ? [] : [host]
}

/** A host may have no name servers at all, and a hosts file instead. */
export const hasNameServers = (resolvConf: string | undefined): boolean =>
  (resolvConf ?? '').split('\n').some((line) => line.trim().split(/\s/, 1)[0] === 'nameserver')

/** Undefined as soon as one name got an answer; else the first error. `servers`: those of the system when left out. */
export async function askNames(
  names: readonly string[],
  timeoutMs: number,
  servers?: readonly string[],
): Promise<string | undefined> {
  const answers = await Promise.all(names.map((name) => askName(name, timeoutMs, servers)))
  return answers.includes(undefined) ? undefined : answers[0]
}

async function askName(name: string, timeoutMs: number, servers: readonly string[] | undefined) {
  // A new one for each look: it reads which name servers there are.
  const resolver = new Resolver({ timeout: Math.max(1, Math.floor(timeoutMs / TRIES)), tries: TRIES })
  if (servers !== undefined) resolver.setServers(servers)
  try {
    await resolver.resolve4(name)
    return undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer'
    return ANSWERED.has(code) ? undefined : `${name}: ${code}`
  } finally {
    resolver.cancel()
  }
}

const TYPE = 'NameLookupsFailing'

/** Ends what was found while there was something to ask. */
export const NOT_ASKED: Reading = readingOf(
  { type: TYPE, calm: { reason: 'NotAsked', message: 'the node has no name servers, or nothing to ask them for' } },
  [],
)

/** `failures`: of the last looks, in a row. */
export function judgeNames(
  failures: number,
  last: string | undefined,
  { failuresInARow }: Pick<DetectorSettings['nameLookups'], 'failuresInARow'>,
): readonly Reading[] {
  if (last !== undefined && failures < failuresInARow) return []
  const calm = { reason: 'NameServersAnswer', message: 'the name servers answer' }
  const faults = last === undefined ? [] : [`no name server of the node answers for ${last}`]
  return [readingOf({ type: TYPE, calm }, faults, 'NoAnswer')]
}
