// Gathers the inputs of a canary: caches, the secret values it tries, and the API server version where it matters.
import { componentCanary } from '#api/kinds/component-canary.ts'
import { componentConfig } from '#api/kinds/component-config.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { CommittedContents } from '#declared/committed.ts'
import { nodeType } from '#nodes/objects.ts'
import { specsIn } from '#nodes/placement/compatibility.ts'
import { type EndedPermits, isRefused } from '#permits/ended-for.ts'
import type { ServerVersion } from '#nodes/placement/server-version.ts'
import { type Informers, requireFresh } from '#runtime/informers.ts'
import type { SecretValues } from '#identity/secrets/secret-values.ts'
import type { Seen } from './seen.ts'
import { defined } from '#lib/defined.ts'

const BY_REQUESTER = 'canary-requester'

type Caches = ReturnType<typeof cachesOf>

export const cachesOf = (informers: Informers) => ({
  canaries: informers.of(componentCanary),
  machines: informers.of(machine),
  machineSets: informers.of(machineSet),
  nodes: informers.of(nodeType),
  permits: informers.of(operationPermit, {
    indexes: {
      [BY_REQUESTER]: ({ spec: { requester: r } }) => (r.manager === FIELD_MANAGERS.canary ? [r.uid ?? ''] : []),
    },
  }),
  holds: informers.of(operationalHold),
  sets: informers.of(machineComponentSet),
  components: informers.of(machineComponent),
  configs: informers.of(componentConfig),
})

interface ObserveTools {
  readonly caches: Caches
  readonly values: SecretValues
  readonly serverVersion: ServerVersion
  readonly contents: CommittedContents
  readonly ended: EndedPermits
  readonly now: () => number
}

export async function observe(
  { caches, values, serverVersion, contents, ended, now }: ObserveTools,
  name: string,
  signal: AbortSignal,
): Promise<Seen | undefined> {
  requireFresh([...Object.values(caches), ...contents.caches])
  const cached = caches.canaries.get(name)
  if (cached === undefined || cached.metadata.deletionTimestamp !== undefined) return undefined
  const { object: found, edit, isHeld } = contents.view(cached, now())
  const { components, missing } = await values.resolve(found.spec.components, signal)
  const canary = { ...found, spec: { ...found.spec, components } }
  const specOf = specsIn(caches.components)
  const needsVersion = components.some((c) => specOf(c.name, c.version)?.skew !== undefined)
  const apiServer = needsVersion ? await serverVersion.read(signal) : undefined
  const uid = canary.metadata.uid ?? ''
  const permits = caches.permits.byIndex(BY_REQUESTER, uid)
  return {
    canary,
    ...defined({ missingSecret: missing, edit }),
    isHeld,
    configs: caches.configs,
    machines: caches.machines.list(),
    machineSets: caches.machineSets,
    nodes: caches.nodes,
    permits,
    refusedFor: ended.observe(uid, permits.filter(isRefused)),
    holds: caches.holds.list(),
    sets: contents.all(caches.sets.list(), now()),
    components: caches.components,
    ...defined({ apiServer }),
  }
}
