// Judges the readings: one line per subject, with a number and a remedy if something is wrong. Pure.
import { AGENT_SIGNER, SYSTEM_NAMESPACE } from '#api/names.ts'
import { counted } from '#lib/counted.ts'
import { releaseLoss } from '#delivery/release-plan.ts'
import { installErrors } from '../install-errors.ts'
import { objectsOf } from '../inventory.ts'
import { planStep } from '../plan.ts'
import type { Release } from '../release.ts'
import { isWithinSkew } from '../versions.ts'
import { doubtful, failed, passed, warned } from './finding.ts'
import { clusterPrograms, flavors, unready } from './judge-hosted.ts'
import { running } from './judge-running.ts'
import { type Judge, MAX_SKEW_MS, MOST_NAMED, named, read } from './judging.ts'
import { closedPorts } from './server-ports.ts'
import { narrowClaim, storageProblem } from './storage.ts'

const OLDEST_MINOR = 32
/** Replicas of a role run on different nodes. */
const SPREAD = 2
const server: Judge = (seen) =>
  read('server', seen.server, ({ text, major, minor }) =>
    major > 1 || minor >= OLDEST_MINOR
      ? passed('server', `Kubernetes ${text}`)
      : failed('server', installErrors.KN1401({ version: text })),
  )

const rights: Judge = (seen) =>
  read('rights', seen.missing, (missing) => {
    const more = missing.length > MOST_NAMED ? ` (and ${missing.length - MOST_NAMED} more)` : ''
    return missing.length === 0
      ? passed('rights', 'you may create everything that is installed')
      : failed('rights', installErrors.KN2403_install({ what: missing.slice(0, MOST_NAMED).join(', '), more }))
  })

const policies: Judge = (seen) =>
  read('policies', seen.servesPolicies, (serves) =>
    serves
      ? passed('policies', 'ValidatingAdmissionPolicy is served')
      : failed(
          'policies',
          installErrors.KN1403({ what: 'ValidatingAdmissionPolicy (admissionregistration.k8s.io/v1)' }),
        ),
  )

const signer: Judge = ({ signer: reading }) =>
  reading === 'NotAsked'
    ? []
    : read('signer', reading, (why) =>
        why === undefined
          ? passed('signer', `agents get certificates from ${AGENT_SIGNER}`)
          : failed('signer', installErrors.KN1404({ signer: AGENT_SIGNER, why })),
      )

const joinTokens: Judge = ({ joinTokens: reading }) =>
  reading === 'NotAsked'
    ? []
    : read('join-tokens', reading, (why) =>
        why === undefined
          ? passed('join-tokens', 'hosts can join with bootstrap tokens')
          : failed('join-tokens', installErrors.KN1437({ why })),
      )

const definitions: Judge = (seen, { release }) =>
  read('definitions', seen.installed, (installed) => {
    const { problems } = planStep(installed, release)
    if (problems.length === 0)
      return passed('definitions', installed.definitions.length === 0 ? 'none installed yet' : 'all can be replaced')
    return problems.map((p) =>
      failed('definitions', p.kind === 'Foreign' ? installErrors.KN1405(p) : installErrors.KN1406(p)),
    )
  })

const versions: Judge = (seen, { release }) =>
  read('versions', seen.installed, (installed) => {
    const { from, to, skip } = planStep(installed, release)
    if (from === undefined && seen.running?.processes !== undefined)
      return passed('versions', `KubeNode ${to}; its programs run as processes, without Deployments`)
    if (from === undefined && seen.running !== undefined) return failed('versions', installErrors.KN1422())
    if (from === undefined) return passed('versions', `KubeNode ${to}; none is installed`)
    if (skip !== undefined) return failed('versions', installErrors.KN1406_versions({ from, to, why: skip }))
    return passed(
      'versions',
      from === to ? `KubeNode ${to} is installed` : `KubeNode ${from} is installed; ${to} may follow it`,
    )
  })

/** A package without its manifests would delete a cluster's policies, which `--yes` does not cover. */
const removals: Judge = (seen, { release }) => {
  if ('unread' in seen.installed) return []
  const loss = releaseLoss(seen.installed.value.inventory, objectsOf(release))
  return loss.count > loss.limit ? [failed('removals', installErrors.KN1452({ ...loss }))] : []
}

const nodes: Judge = (seen, { release }) =>
  read('nodes', seen.nodes, ({ ready, total }) => {
    const replicas = Math.max(0, ...release.objects.map(replicasOf))
    // Without settings there are no workloads yet, but any program needs a node.
    const wanted = Math.max(1, Math.min(SPREAD, replicas))
    const of = counted(total, 'node')
    if (ready >= wanted) return passed('nodes', `${ready} of ${of} take ordinary pods`)
    const needed = wanted === 1 ? 'the programs need one' : 'two replicas of a role need 2'
    const isOneEnough = ready > 0
    const remedy = isOneEnough ? 'add a node, or install with --replicas 1' : 'add a node, or uncordon or untaint one'
    return doubtful('nodes', installErrors.KN1407({ ready, total: of, needed, remedy }))
  })

const replicasOf = (o: Release['objects'][number]): number => {
  const spec = o.kind === 'Deployment' ? (o['spec'] as { readonly replicas?: number } | undefined) : undefined
  return spec?.replicas ?? 0
}

const clocks: Judge = (seen) =>
  read('clock', seen.skewMs, (ms) =>
    ms < MAX_SKEW_MS
      ? passed('clock', 'agrees with the API server')
      : failed('clock', installErrors.KN1408({ seconds: Math.round(ms / 1_000) })),
  )

const agents: Judge = (seen, { release }) =>
  read('agents', seen.agents, (all) => {
    const apart = all.filter(({ version }) => isWithinSkew(version, release.version) === false)
    const [first] = apart
    if (first === undefined)
      return passed(
        'agents',
        all.length === 0 ? 'none yet' : `${counted(all.length, 'agent')} of a version that works with this one`,
      )
    const found = named([...new Set(apart.map((a) => a.version))].toSorted())
    return failed('agents', installErrors.KN1409({ count: apart.length, versions: found, first: first.machine }))
  })

const remediators: Judge = (seen) =>
  read('remediators', seen.remediators, (names) =>
    names.length === 0
      ? passed('remediators', 'no other program repairs nodes')
      : failed('remediators', installErrors.KN1410({ names: named(names) })),
  )

/** In the words of an API server that calls a webhook of KubeNode. */
const isHeldByWebhook = (why: string): boolean => /failed calling webhook "[a-z.]+\.kubenode\.io"/.test(why)

const namespaces: Judge = (seen) => [
  ...read('namespace', seen.foreignObjects, (foreignObjects) =>
    foreignObjects.length === 0
      ? passed('namespace', `${SYSTEM_NAMESPACE} is free or ours`)
      : failed('namespace', installErrors.KN1411({ namespace: SYSTEM_NAMESPACE, what: named(foreignObjects) })),
  ),
  ...read('namespace', seen.ending, (ending) =>
    ending.map((one) =>
      failed('namespace', isHeldByWebhook(one.why) ? installErrors.KN1442_webhook(one) : installErrors.KN1442(one)),
    ),
  ),
]

const elsewhere: Judge = (seen) =>
  read('elsewhere', seen.elsewhere, ([first]) =>
    first === undefined
      ? passed('elsewhere', 'no second installation')
      : failed(
          'elsewhere',
          installErrors.KN1415({
            namespace: first.metadata.namespace ?? '',
            workload: `deployment ${first.metadata.name}`,
          }),
        ),
  )

const storageOf: Judge = (seen, { claims }) => {
  if (claims.length === 0) return [passed('storage', 'no volume is needed')]
  return read('storage', seen.storage, (storage) => {
    const problems = claims.flatMap((claim) => storageProblem(claim, storage) ?? [])
    const narrow = claims.flatMap((claim) => narrowClaim(claim, storage) ?? [])
    const found = [
      ...problems.map((p) => failed('storage', installErrors.KN1412(p))),
      ...narrow.map(({ isForOnePod, ...n }) => (isForOnePod ? failed : doubtful)('storage', installErrors.KN1445(n))),
    ]
    return found.length > 0 ? found : passed('storage', `${counted(claims.length, 'volume')} can be provided`)
  })
}

const pods: Judge = (seen) =>
  read('pods', seen.refusals, (refusals) =>
    refusals.length === 0
      ? passed('pods', 'the cluster accepts the pods')
      : refusals.map((r) => failed('pods', installErrors.KN1413(r))),
  )

const network: Judge = (seen, { release }) => {
  if (!release.objects.some((o) => o.kind === 'NetworkPolicy')) return []
  const plugins = 'value' in seen.networkPlugins ? seen.networkPlugins.value : undefined
  return [
    ...read('network', seen.networkPlugins, ({ enforcing, others }) => {
      if (enforcing.length > 0) return passed('network', `${named(enforcing)} enforces NetworkPolicies`)
      if (others.length > 0) return doubtful('network', installErrors.KN1436({ plugins: named(others) }))
      return warned(
        'network',
        'no known network plugin was found, so whether NetworkPolicies are enforced is unknown; see docs/operations/install.md',
      )
    }),
    ...read('network', seen.serverPorts, (ports) => {
      const found = closedPorts(release, ports)
      if (found === undefined || plugins?.others.length !== 0) return []
      const error = installErrors.KN1443({ closed: found.closed.join(', '), open: found.open.join(', ') })
      // An unknown plugin may or may not enforce policies.
      return plugins.enforcing.length > 0 ? failed('network', error) : doubtful('network', error)
    }),
  ]
}

/** Names that --ignore accepts. */
export const CHECKS: readonly string[] = [
  'server',
  'rights',
  'policies',
  'signer',
  'join-tokens',
  'definitions',
  'versions',
  'removals',
  'nodes',
  'clock',
  'agents',
  'remediators',
  'namespace',
  'elsewhere',
  'flavors',
  'cluster-programs',
  'storage',
  'pods',
  'network',
]

const ALL: readonly Judge[] = [
  server,
  rights,
  policies,
  signer,
  joinTokens,
  definitions,
  versions,
  removals,
  nodes,
  clocks,
  agents,
  remediators,
  namespaces,
  elsewhere,
  flavors,
  clusterPrograms,
  unready,
  storageOf,
  pods,
  network,
  running,
]

/** Checks about pods that run the programs. */
const OF_PODS: ReadonlySet<Judge> = new Set([nodes, storageOf, pods, network])

export const judge: Judge = (seen, wanted) =>
  ALL.flatMap((one) => (seen.running?.processes !== undefined && OF_PODS.has(one) ? [] : one(seen, wanted)))
