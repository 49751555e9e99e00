// A cluster of 10,000 machines as the server sends it: a few racks without heartbeats, a step of a rollout, some repairs.
import { MACHINE_COLUMNS } from '#console/machine-columns.ts'
import type { MachineColumn } from '#console/machine-columns.ts'
import type { MachineCells, MachinesTopic } from '#console/protocol.ts'

const MANY = 10_000
const RACK = 25
const PHASES = ['', 'Ready', 'Updating', 'NotReady', 'Repairing', 'Failed']
const ZONES = ['zone-a', 'zone-b', 'zone-c']
const WORDS = [...PHASES, ...ZONES, ...Array.from({ length: MANY / RACK }, (_, i) => `rack-${i}`)]

const word = (text: string): number => WORDS.indexOf(text)

function phaseOf(i: number): string {
  if (i >= 4_100 && i < 4_250 && i % 3 !== 0) return 'NotReady'
  if (i >= 2_000 && i < 2_100) return 'Updating'
  return i % 997 === 0 ? 'Repairing' : 'Ready'
}

export function cellsOf(i: number, phase = phaseOf(i)): MachineCells {
  const of: Partial<Record<MachineColumn, number>> = {
    phase: word(phase),
    zone: word(ZONES[Math.floor((i * ZONES.length) / MANY)] ?? ''),
    rack: word(`rack-${Math.floor(i / RACK)}`),
  }
  return MACHINE_COLUMNS.map((column) => of[column] ?? 0)
}

export function manyMachines(cluster: string): MachinesTopic {
  const rows = Array.from({ length: MANY }, (_, i) => cellsOf(i))
  return {
    topic: `machines/${cluster}`,
    revision: '1a2b-42',
    at: Date.parse('2026-01-31T12:00:00Z'),
    words: WORDS,
    names: rows.map((_, i) => `node-${i}`),
    columns: Object.fromEntries(
      MACHINE_COLUMNS.map((column, c) => [column, rows.map((row) => row[c] ?? 0)]),
    ) as unknown as MachinesTopic['columns'],
  }
}
