// The figures of a run that expectations may name, and how they spread over the seeds. Pure.
import { quantile } from '#lib/quantile.ts'
import { type Expression, type Figures, parsedExpression } from '../backtest/expression.ts'
import type { RunResult } from './run-once.ts'

/** Names of figures with what they mean. */
export const SIMULATION_FIGURES: Readonly<Record<string, string>> = {
  complete: '1 if all sets that the commit changes were complete in time, otherwise 0',
  minutes: 'minutes until they were complete, or until the run ended',
  blocked: 'sets that stopped because a version failed, or made no progress within progressDeadline',
  'failed.switches': 'machines on which a bad version failed before its rollout stopped',
  'own.machines': 'the most machines that rollouts and repairs took out at once',
  'own.share': 'the largest share of the cluster that they took out at once',
  'own.zone': 'the largest share of a zone that rollouts and repairs took out at once',
  'own.rack': 'the largest share of a rack that they took out at once',
  'own.pool': 'the largest share of a pool that they took out at once',
  'all.machines': 'the most machines that were out at once, for whatever reason',
  'all.share': 'the largest share of the cluster that was out at once',
  'all.zone': 'the largest share of a zone that was out at once',
  faults: 'faults that began',
  'faults.open': 'faults that were open at the end',
  'faults.minutes': 'minutes of all faults together',
  repairs: 'repairs that rules created',
  'repairs.reboots': 'repairs with a reboot',
  'repairs.drains': 'repairs with a drain',
  'repairs.replacements': 'repairs that replace the machine',
  'repairs.refused': 'repairs that the Defender refused',
  'repairs.escalated': 'repairs that did not help',
  reclaimed: 'hosts that the provider reclaimed',
  'hosts.waited': 'minutes that new hosts waited for a provider that throttles, all together',
}

export const FIGURE_NAMES = Object.keys(SIMULATION_FIGURES)

export const expectationOf = (text: string): Expression => parsedExpression(text, FIGURE_NAMES)

export function figuresOf({ own, all, faults, repairs, ...run }: RunResult): Figures {
  return {
    complete: run.completeMs === undefined ? 0 : 1,
    minutes: Math.round((run.completeMs ?? run.ms) / 60_000),
    blocked: run.blockedSets.length,
    'failed.switches': run.failedSwitches,
    'own.machines': own.cluster.machines,
    'own.share': own.cluster.share,
    'own.zone': own.zone.share,
    'own.rack': own.rack.share,
    'own.pool': own.pool.share,
    'all.machines': all.cluster.machines,
    'all.share': all.cluster.share,
    'all.zone': all.zone.share,
    faults: faults.begun,
    'faults.open': faults.open,
    'faults.minutes': faults.minutes,
    repairs: repairs.jobs,
    'repairs.reboots': repairs.reboots,
    'repairs.drains': repairs.drains,
    'repairs.replacements': repairs.replacements,
    'repairs.refused': repairs.refused,
    'repairs.escalated': repairs.escalated,
    reclaimed: run.reclaimed,
    'hosts.waited': Math.round(run.creationWaitMs / 60_000),
  }
}

export interface Spread {
  readonly p50: number
  readonly p95: number
  readonly least: number
  readonly most: number
}

export function spreadOf(values: readonly number[]): Spread {
  const at = (share: number) => quantile(values, share) ?? 0
  return { p50: at(0.5), p95: at(0.95), least: at(0), most: at(1) }
}
