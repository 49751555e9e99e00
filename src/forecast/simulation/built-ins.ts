// The scenarios of --what-if: questions that every fleet has, made for the machines of its cluster. Pure.
import type { Scenario } from '#api/scenario.ts'
import { assertNever } from '#lib/errors.ts'
import type { WhatIf } from './what-ifs.ts'
import type { WorldObjects } from './world.ts'

export function builtIn(name: WhatIf, { machines, sets }: WorldObjects, changedSets: readonly string[]): Scenario {
  switch (name) {
    case 'undisturbed':
      return { description: 'nothing happens but the rollout' }
    case 'bad-rollout': {
      if (changedSets.length === 0) return { description: 'no version can fail, because nothing rolls out' }
      const changed = sets.filter((s) => changedSets.includes(s.metadata.name ?? ''))
      const components = new Set(changed.flatMap((s) => s.spec.components.map((c) => c.name)))
      return {
        description: 'every new version of the commit fails on every machine',
        badVersions: [...components].map((component) => ({ component })),
      }
    }
    case 'zone-loss': {
      const [zone] = [...new Set(machines.flatMap((m) => m.spec.zone ?? []))].toSorted()
      return {
        description:
          zone === undefined ? 'a tenth of the machines stops for an hour' : `zone ${zone} stops for an hour`,
        outages: [{ at: '10m', pick: zone === undefined ? { count: '10%' } : { zone }, for: '1h' }],
      }
    }
    case 'api-loss':
      return {
        description: 'the API server cannot be reached for 30 minutes',
        apiOutages: [{ at: '10m', for: '30m' }],
      }
    case 'not-ready':
      return {
        description: 'a fiftieth of the nodes becomes NotReady within ten minutes, until a reboot',
        faults: [
          {
            at: '10m',
            over: '10m',
            pick: { count: '2%' },
            condition: 'Ready',
            clearedBy: ['reboot', 'rescueReboot', 'replace'],
          },
        ],
      }
    case 'spot-reclaim':
      return {
        description: 'a tenth of the hosts is reclaimed within ten minutes, each two minutes after its notice',
        spotReclaims: [{ at: '10m', over: '10m', pick: { count: '10%' } }],
      }
    case 'provider-throttled':
      return {
        description: 'a twentieth of the hosts is reclaimed while the provider makes six in an hour, for four hours',
        spotReclaims: [{ at: '10m', over: '10m', pick: { count: '5%' } }],
        providerLimits: [{ for: '4h', perHour: 6 }],
      }
    default:
      return assertNever(name)
  }
}
