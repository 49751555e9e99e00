// Metrics of machines: by phase, by wait, silent agents, and every component by version and state.
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { findCondition } from '#kube/conditions.ts'
import { type Family, tally } from './family.ts'

const NONE = 'none'
/** For certificates, and for agents that use service accounts. */
const EXPIRING = ['CertificateExpiring', 'TokenExpiring'] as const

export function machineFamilies(machines: readonly Machine[], sets: readonly MachineSet[]): readonly Family[] {
  const silent = machines.filter(
    (m) => (findCondition(m.status?.conditions, 'AgentReachable')?.status ?? 'True') !== 'True',
  )
  const expiring = machines.filter((m) =>
    EXPIRING.some((type) => findCondition(m.status?.conditions, type)?.status === 'True'),
  )
  const waiting = machines.filter((m) => m.status?.waitingFor !== undefined)
  return [
    {
      name: 'kubenode_machines',
      help: 'Machines by phase.',
      labels: ['phase'],
      samples: tally(machines, (m) => ({ phase: m.status?.phase ?? NONE })),
    },
    {
      name: 'kubenode_machines_waiting',
      help: 'Machines by what they are waiting for.',
      labels: ['predicate'],
      samples: tally(waiting, (m) => ({ predicate: m.status?.waitingFor?.predicate ?? NONE })),
    },
    {
      name: 'kubenode_machines_agent_silent',
      help: 'Machines without a heartbeat from their agent.',
      labels: [],
      samples: [{ labels: {}, value: silent.length }],
    },
    {
      name: 'kubenode_machines_certificate_expiring',
      help: 'Machines whose agent did not get its next certificate or token in time; the one that it has expires or has expired.',
      labels: [],
      samples: [{ labels: {}, value: expiring.length }],
    },
    {
      name: 'kubenode_machine_components',
      help: 'Components on machines by version and state.',
      labels: ['component', 'version', 'state'],
      samples: tally(
        machines.flatMap((m) => m.status?.components ?? []),
        ({ name, version, state }) => ({ component: name, version: version ?? NONE, state }),
      ),
    },
    {
      name: 'kubenode_offering_exhausted',
      help: 'Machines that wait because their provider has none left of an offering.',
      labels: ['provider', 'zone', 'type'],
      samples: tally(
        machines.filter((m) => m.status?.provisioning?.answer === 'Exhausted'),
        ({ spec, status }) => ({
          provider: spec.provider?.name ?? NONE,
          zone: status?.provisioning?.offering?.zone ?? spec.zone ?? NONE,
          type: status?.provisioning?.offering?.type ?? NONE,
        }),
      ),
    },
    {
      name: 'kubenode_machineset_replicas',
      help: 'Machines of a MachineSet: desired, current, ready.',
      labels: ['machineset', 'which'],
      samples: sets.flatMap(({ metadata, spec, status }) =>
        (
          [
            ['wanted', spec.replicas],
            ['current', status?.replicas],
            ['ready', status?.readyReplicas],
          ] as const
        ).map(([which, value]) => ({ labels: { machineset: metadata.name ?? '', which }, value: value ?? 0 })),
      ),
    },
  ]
}
