// A provider whose answers about its hosts change with every question: power, tokens, owners, names. The controllers are the real ones, orphans are deleted, and an
// hour passes: each Machine keeps the one host that it got, and none is deleted, whether its agent is heard or not.
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import type { Host, HostRequest, Provider } from '#providers/port.ts'
import { type MemoryHost, MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import { beat, endWorlds, machineWorld, setOf, type TestWorld } from '#test/support/worlds/machine-world.ts'
import { inFullAll } from '#test/support/tools/full.ts'
import { afterEach, describe, expect, test } from 'vitest'

const NAME = 'process'
const REPLICAS = 3
const BEAT_MS = 20_000
/** Longer than the time after which a host without a Machine is deleted. */
const LONG_MS = 30 * 60_000

/** What becomes of a true answer; `n` counts the questions. */
type Lie = (host: Host, n: number, all: readonly Host[]) => Host

const isOdd = (n: number): boolean => n % 2 === 1
const next = (host: Host, all: readonly Host[]): Host =>
  all[(all.findIndex((h) => h.providerID === host.providerID) + 1) % Math.max(1, all.length)] ?? host

const LIES: Readonly<Record<string, Lie>> = {
  'flips between Running and Stopped': (host, n) => ({ ...host, state: isOdd(n) ? 'Stopped' : 'Running' }),
  'flips between Running and Creating': (host, n) => ({ ...host, state: isOdd(n) ? 'Creating' : 'Running' }),
  'gives every host another token with each answer': (host, n) => ({ ...host, clientToken: `token-${n}` }),
  'flips between the token and another one': (host, n) => (isOdd(n) ? { ...host, clientToken: 'other' } : host),
  'gives all hosts one token': (host) => ({ ...host, clientToken: 'the-same' }),
  'exchanges the Machines of its hosts in every other answer': (host, n, all) => {
    const { machine, machineUid } = isOdd(n) ? next(host, all) : host
    return { ...host, machine, machineUid }
  },
  'exchanges the tokens of its hosts in every other answer': (host, n, all) =>
    isOdd(n) ? { ...host, clientToken: next(host, all).clientToken } : host,
  'makes its hosts later and earlier': (host, n) => ({
    ...host,
    createdAt: isOdd(n) ? '2000-01-01T00:00:00Z' : '2090-01-01T00:00:00Z',
  }),
  'changes boots with each answer': (host, n) => ({ ...host, bootID: `b-${n}` }),
}
