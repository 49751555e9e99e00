// Ten thousand hollow machines as they are after a month of rest: planted at the server and in the folder of their provider, since bringing them up is not
// what is measured.
import { writeFileSync } from 'node:fs'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { FIELD_MANAGERS, FINALIZERS, LABELS, NODE_LEASES } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { componentObjectName } from '#lib/names.ts'
import { nodeType } from '#nodes/objects.ts'
import { leaseType } from '#runtime/lease.ts'
import { hostFile } from '#providers/hollow/hosts.ts'

export const SET = 'base'
export const COMPONENT = 'beacon'
const POOL = { 'kubenode.io/pool': 'workers' }
/** Creates in flight. */
const AT_ONCE = 32

export interface FleetOptions {
  readonly client: KubeClient
  readonly hollowDir: string
  readonly count: number
  /** How long a version is watched on its machine. */
  readonly settle: string
  readonly maxUnavailable: number
}

const definition = (version: string, settle: string) => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'MachineComponent',
  metadata: { name: componentObjectName(COMPONENT, version) },
  spec: {
    component: COMPONENT,
    version,
    type: 'Package',
    artifacts: [{ os: 'linux', arch: 'any', url: `beacon-${version}.tar`, sha256: '0'.repeat(64), size: 1 }],
    install: { unpack: { path: '/opt/beacon' } },
    disruption: 'Restart',
    service: { exec: '/opt/beacon/beacon', restart: 'Always', killMode: 'Process' },
    probes: [{ name: 'http', http: { port: 18080, path: '/' }, interval: '1h', timeout: '1s', settle }],
  },
})

export async function plantFleet({ client, hollowDir, count, settle, maxUnavailable }: FleetOptions): Promise<void> {
  for (const version of ['1.0.0', '1.1.0']) await client.create(machineComponent, definition(version, settle) as never)
  await client.create(defenderPolicy, {
    apiVersion: API_GROUP_VERSION,
    kind: 'DefenderPolicy',
    metadata: { name: 'open' },
    spec: {
      budgets: [{ max: maxUnavailable, of: 'concurrent', per: 'cluster' }],
      rates: [{ window: '1m', max: 100_000, per: 'cluster' }],
      mode: 'Enforce',
    },
  } as never)
  await client.create(machineComponentSet, {
    apiVersion: API_GROUP_VERSION,
    kind: 'MachineComponentSet',
    metadata: { name: SET },
    spec: {
      selector: { matchLabels: POOL },
      components: [{ name: COMPONENT, version: '1.0.0' }],
      rollout: { steps: [1, 5, 10, 50, 100], maxUnavailable, soak: '0s', spread: ['class', 'zone', 'rack'] },
    },
  } as never)
  const names = Array.from({ length: count }, (_, i) => i)
  const next = names[Symbol.iterator]()
  const worker = async () => {
    for (const i of next) await plantMachine(client, hollowDir, i)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

export const machineName = (i: number): string => `m-${String(i).padStart(5, '0')}`

async function plantMachine(client: KubeClient, hollowDir: string, i: number): Promise<void> {
  const name = machineName(i)
  const since = timestamp(Date.now() - 3_600_000)
  const domains = { zone: `zone-${i % 3}`, rack: `rack-${i % 200}`, class: `class-${i % 5}` }
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
  const heard = Date.now()
  const [made, node] = await Promise.all([
    client.create(
      machineType,
      {
        apiVersion: API_GROUP_VERSION,
        kind: 'Machine',
        metadata: {
          name,
          labels: POOL,
          finalizers: [FINALIZERS.machine],
        },
        spec: {
          channel: 'Agent',
          provider: { name: 'hollow' },
          providerID: `hollow://${name}`,
          pool: 'workers',
          ...domains,
          components: [{ name: COMPONENT, version: '1.0.0', attempt: 1, setRef: SET }],
        },
      } as never,
      { fieldManager: FIELD_MANAGERS.machine },
    ),
    client.create(nodeType, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        labels: {
          [LABELS.pool]: 'workers',
          [LABELS.zone]: domains.zone,
          [LABELS.rack]: domains.rack,
          [LABELS.class]: domains.class,
        },
      },
      spec: {},
      status: { conditions: [{ ...ready, lastHeartbeatTime: timestamp(heard), lastTransitionTime: since }] },
    } as never),
    client.create(leaseType, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: NODE_LEASES, name },
      spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTimestamp(heard) },
    }),
  ])
  const host = {
    clientToken: made.metadata.uid,
    machineUid: made.metadata.uid,
    machine: name,
    createdAt: since,
    bootId: `${name}-boot`,
    params: { kubelet: 'true' },
  }
  writeFileSync(hostFile(hollowDir, name), JSON.stringify(host))
  const status = {
    phase: 'Ready',
    components: [{ name: COMPONENT, version: '1.0.0', desired: '1.0.0', state: 'Healthy', since, attempt: 1 }],
  }
  await client.patch(
    machineType,
    { name },
    { type: 'merge', value: { status: { ...status, nodeRef: { name, uid: node.metadata.uid ?? '' } } } },
    { subresource: 'status', fieldManager: FIELD_MANAGERS.agent },
  )
}
