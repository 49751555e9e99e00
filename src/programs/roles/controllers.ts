// The controllers role: all loops of a cluster that create and maintain machines, and the providers of its hosts.
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JoinBundle } from '#api/join-bundle.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { uidOf } from '#api/schema/object-meta.ts'
import { anchorOf, judgeTrust, parseSignedTrust } from '#api/trust/trust-document.ts'
import { readBoundedText } from '#lib/bounded-file.ts'
import { compileCache } from '#lib/compile-cache.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { Semaphore } from '#lib/semaphore.ts'
import { PredictionRecorder } from '#forecast/accuracy/prediction-recorder.ts'
import { sshScript } from '#agent/join/ssh-scripts.ts'
import { userData } from '#agent/join/user-data.ts'
import { HOSTS_AT_ONCE } from '#controllers/sshjoin/reconcile.ts'
import { VISITS_AT_ONCE } from '#controllers/sshnodes/reconcile.ts'
import { SshSessions } from '#ssh/ssh-sessions.ts'
import { providerMeter } from '#controllers/machine/metrics.ts'
import type { ControllerModule, JoinGround } from '#controllers/module.ts'
import { DeclaredAgentConfig } from '#declared/followed-agent-config.ts'
import { metered } from '#providers/metered.ts'
import { ownHostsOf } from '#providers/own-hosts.ts'
import type { Provider } from '#providers/port.ts'
import { requireFresh, type SharedInformer } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { partsOf } from '#runtime/module.ts'
import { providersText } from '#runtime/served-providers.ts'
import { labelled } from '#install/release.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { VERSION } from '#lib/program-version.ts'
import { InstalledShells, shellsOf } from '../run/installed-shells.ts'
import { PinnedAuthority } from '../run/pinned-authority.ts'
import type { RoleSetup } from '../run/role.ts'
import { runErrors } from '../run/run-errors.ts'
import { apiServersOf, type RolesConfig } from './config.ts'
import { sshVisits } from '../run/ssh-visits.ts'

/** The trust document for new hosts. One that does not verify with its own keys would fail on every node. */
function trustOf(path: string | undefined): JoinBundle['trust'] {
  if (path === undefined) return { sequence: 0, threshold: 1, keys: [] }
  const document = parseSignedTrust(JSON.parse(readBoundedText(path)))
  const anchor = document && { ...anchorOf(document.document), sequence: 0 }
  if (document === undefined || anchor === undefined || judgeTrust(anchor, document, Date.now()).kind === 'Refused') {
    throw new KubeNodeError(runErrors.KN1024_hosts({ path }))
  }
  return { anchor, document }
}

interface Hosts {
  readonly provider: Provider
  readonly part: Part
}

/** Providers run as the role that creates them. */
function hosts(provider: Provider): Hosts {
  const stop = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const part: Part = {
    name: `${provider.name}-provider`,
    start: () => void (running = provider.run?.(stop.signal) ?? Promise.resolve()),
    stop: async () => {
      stop.abort()
      await running
    },
  }
  return { provider, part }
}

/** Of the process, because its processor time is: one that is hosted controls many clusters. */
const FORECASTS = new Semaphore(1, { what: 'forecasts' })

interface Page {
  readonly modules: readonly ControllerModule[]
  readonly roles: readonly string[]
}

export const controllersRole = (config: RolesConfig, page: Page): RoleSetup => ({
  leaseAnnotations: { [ANNOTATIONS.providers]: providersText(config.providers.map((p) => p.name)) },
  async setup(context) {
    const shells = shellsOf(page.roles).map((shell) => ({ ...shell, ...labelled(shell, VERSION), kind: shell.kind }))
    const declared = new DeclaredAgentConfig({ ...context, events: context.events('agents') })
    const { node, entries } = config
    const cache = compileCache()
    const tools = {
      clock: context.clock,
      log: context.log,
      agentConfig: async () => declared.text(),
      node,
      entries,
      ...defined({ compileCache: cache }),
      env: process.env,
      userData,
    }
    const { informers, clock, random, log, metrics, supervision } = context
    const meter = providerMeter(metrics.registry)
    const all = await Promise.all(
      config.providers.map(async (served) => ({ served, ...hosts(await served.create(tools)) })),
    )
    const given = all.map(({ served, provider }) => {
      const counted = metered(provider, meter)
      const isShared = config.areProvidersShared === true && !served.isPrivate
      return [provider.name, isShared ? ownHostsOf(counted, uidsIn(informers.of(machine))) : counted] as const
    })
    // The artifacts role serves HTTPS only.
    const { artifactCaData, artifactTrust = 'servers' } = config
    const isPinned =
      artifactCaData === undefined && artifactTrust === 'servers' && config.artifactBase.startsWith('https:')
    const pinned = isPinned ? new PinnedAuthority(context) : undefined
    // An invalid document stops the start. Later versions are read as machines join.
    trustOf(config.trust)
    const folder = join(tmpdir(), `kubenode-ssh-${process.geteuid?.() ?? 'keys'}`)
    const sessions = new SshSessions({
      folder,
      path: process.env['PATH'] ?? '',
      atOnce: HOSTS_AT_ONCE + VISITS_AT_ONCE,
    })
    const ground: JoinGround = {
      server: config.server,
      get caData() {
        return Buffer.from(config.ca()).toString('base64')
      },
      artifactBase: config.artifactBase,
      ...defined({ joinScript: config.joinScript }),
      get artifactCaData() {
        return config.artifactCaData ?? pinned?.value
      },
      get trust() {
        return trustOf(config.trust)
      },
      get waitsFor() {
        return pinned !== undefined && pinned.value === undefined ? NO_AUTHORITY : undefined
      },
    }
    const running = page.modules.map((module) =>
      module.setup({
        client: context.client,
        informers,
        clock,
        random,
        log,
        metrics,
        events: context.events(module.name),
        config: {
          cluster: config.cluster,
          inspections: { ...config.inspections, apiServers: apiServersOf(config) },
          ...defined({ outbound: config.outbound }),
          providers: Object.fromEntries(given),
          sshNodes: sshVisits({ client: context.client, clock, random, log, sessions, join: ground }),
          sshJoin: { sessions, scriptOf: (step, ...of) => sshScript(step, ...of) },
          orphans: Object.fromEntries(config.providers.map((p) => [p.name, p.orphans])),
          join: ground,
        },
      }),
    )
    return [
      ...(pinned === undefined ? [] : [pinned]),
      new InstalledShells({ client: context.client, clock, log, shells }),
      new PredictionRecorder({ client: context.client, informers, clock, log, turns: FORECASTS }),
      ...all.map(({ part }) => part),
      ...running.flatMap((m) => partsOf(m, supervision)),
    ]
  },
})

/** Deciding without all of them would call hosts missing. */
const uidsIn = (machines: SharedInformer<Machine>) => (): ReadonlySet<string> => {
  requireFresh([machines])
  return new Set(machines.list().map(uidOf))
}

/** A host that joined without it could never fetch an artifact. */
const NO_AUTHORITY = 'the artifact servers have not made their authority yet'
