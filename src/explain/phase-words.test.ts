import { describe, expect, test } from 'vitest'
import { PHASES, type PhaseTable } from '#api/phases.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { phaseWords } from './phase-words.ts'
import { whyLines } from './why.ts'

const TABLES: Readonly<Record<string, PhaseTable>> = {
  Machine: 'Machine',
  MachineSet: 'Set',
  MachineComponentSet: 'Set',
  ComponentCanary: 'Canary',
  OperationPermit: 'Permit',
  RemedyOperationJob: 'Job',
  MaintenanceEvent: 'Maintenance',
  Cluster: 'Cluster',
  Release: 'Release',
}

/** Adjectives and participles, and words that Kubernetes uses as such. */
const ADJECTIVE =
  /^is (?:Aborted|Announced|Blocked|Cancelled|Complete|Denied|Done|Expired|Failed|Granted|Lapsed|Lost|Missed|NotReady|Passed|Paused|Pending|Prepared|Promoted|Ready|Released|Requested|Reverted|Revoked|Running|Succeeded|Superseded|Unreachable|[A-Z][a-z]+ing)$/

describe.each(Object.entries(TABLES))('every phase of a %s', (kind, table) => {
  test.each(Object.keys(PHASES[table]))('%s makes a sentence', (phase) => {
    const words = phaseWords(kind, phase)
    expect(words.match(ADJECTIVE) ?? words.match(/^is [a-z ]+$/), words).not.toBeNull()
  })
})

test.each([
  ['Creating', 'cluster/cider-1 is being created'],
  ['Addons', 'cluster/cider-1 is getting its addons'],
  ['Ready', 'cluster/cider-1 is Ready'],
  ['RollingBack', 'cluster/cider-1 is being rolled back'],
])('the explanation of a Cluster in phase %s says so', (phase, line) => {
  const object = { kind: 'Cluster', metadata: { name: 'cider-1' }, status: { phase } } as unknown as KubeObject
  expect(whyLines(object, 0)[0]).toBe(line)
})

test('a phase of a later version is shown as it is', () => {
  expect(phaseWords('Cluster', 'Moving')).toBe('is Moving')
  expect(phaseWords('toString', 'Moving')).toBe('is Moving')
  expect(phaseWords('Cluster', 'toString')).toBe('is toString')
})
