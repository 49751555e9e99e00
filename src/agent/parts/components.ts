// The part that installs, probes and reverts components: what their workers may read, run and fetch on this node.
import { NODE_LEASES } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { AllComponents } from '../components/all-components.ts'
import { runProbe } from '../components/probe.ts'
import { restoreRefusal } from '../components/restore-refusal.ts'
import { stage } from '../components/stage.ts'
import type { TrustStore } from '../components/trust-store.ts'
import { isNodeFrozen } from '../frozen.ts'
import { runHook } from '../hook.ts'
import { HungHooks } from '../hung-hooks.ts'
import { leaseRenewal } from '../node/lease-renewal.ts'
import type { NodeObject } from '../node/node-object.ts'
import { readPermit } from '../permits.ts'
import { groundHere, preflightOnNode } from '../preflight/on-node.ts'
import { readNodeFacts } from '../preflight/read.ts'
import { KeptReading } from '../kept-reading.ts'
import { realBootHost } from '../os/boot-host.ts'
import { HostOs } from '../os/host-os.ts'
import type { Processes } from '../supervise/port.ts'
import type { PartsContext } from './context.ts'

export interface ComponentsNeeds {
  readonly supervisor: Processes
  readonly trust: TrustStore
  readonly nodeObject: NodeObject
  /** UIDs under which permits may name this node. */
  readonly targets: () => readonly string[]
  readonly onChange: () => void
}

export function buildComponents(context: PartsContext, needs: ComponentsNeeds): AllComponents {
  const { base, files, dir, clock, client, machine, session, facts } = context
  const { address, environment, systemctl, fetcher, platform, proxy } = context
  const { supervisor, trust, nodeObject, targets, onChange } = needs
  const preflight = preflightOnNode({ files, dir, facts: readNodeFacts(facts), ground: groundHere(dir) })
  const secrets = { machine, privateKey: async () => session.sealing.privateKey }
  const os = context.isHost
    ? new HostOs({
        host: realBootHost({ files, ...defined({ proxy }) }),
        files,
        dir,
        log: base.log,
        arch: platform.arch,
      })
    : undefined
  const hung = new HungHooks(dir)
  const server = new KeptReading(clock, session.serverVersion, () => components.wakeStaged())
  const components: AllComponents = new AllComponents({
    ...base,
    processes: supervisor,
    runHook: runHook({ dir, environment, hung }),
    hungHook: (component) => hung.pidOf(component),
    stage: (request, stop) =>
      stage(
        { files, dir, client, fetcher, trust, clock, platform, preflight, secrets, ...defined({ os }) },
        request,
        stop,
      ),
    serverVersion: () => server.value,
    readPermit: (target, permit, operations) => readPermit(client, permit, { operations, targets: targets(), target }),
    reboots: context.reboots,
    ...defined({ os }),
    readNodePending: () => nodeObject.isPending(),
    machine,
    refusal: async (spec) => {
      const now = await trust.current()
      return restoreRefusal(spec, now.kind === 'None' ? undefined : now.document, server.value)
    },
    isNodeFrozen: isNodeFrozen(files, dir),
    runProbe: (probe, _, watchedMs) =>
      runProbe(
        probe,
        {
          dir,
          address,
          now: () => clock.now(),
          environment,
          systemctl,
          leaseRenewal: () => leaseRenewal(client, { namespace: NODE_LEASES, name: context.node }),
        },
        watchedMs,
      ),
    onChange,
  })
  return components
}
