// The part that installs, probes and reverts components: what their workers may read, run and fetch on this node.
import { AllComponents } from '../components/all-components.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { floorProblem } from '#api/trust/trust-document.ts'
import { skewRefusal } from '../preflight/preflight.ts'
import { look } from '../components/probe.ts'
import { stage } from '../components/stage.ts'
import type { TrustStore } from '../components/trust-store.ts'
import { isNodeFrozen } from '../frozen.ts'
import { runHook } from '../hook.ts'
import { leaseRenewal } from '../node/lease-renewal.ts'
import type { NodeObject } from '../node/node-object.ts'
import { readPermit } from '../permits.ts'
import { preflightOnNode } from '../preflight/on-node.ts'
import { readNodeFacts } from '../preflight/read.ts'
import { KeptReading } from '../kept-reading.ts'
import type { Processes } from '../supervise/port.ts'
import type { Ground } from './ground.ts'

export interface ComponentsNeeds {
  readonly supervisor: Processes
  readonly trust: TrustStore
  readonly nodeObject: NodeObject
  /** UIDs under which permits may name this node. */
  readonly targets: () => readonly string[]
  readonly onChange: () => void
}

export function buildComponents(ground: Ground, needs: ComponentsNeeds): AllComponents {
  const { base, files, dir, clock, client, machine, session, facts } = ground
  const { address, environment, systemctl, fetcher, platform } = ground
  const { supervisor, trust, nodeObject, targets, onChange } = needs
  const preflight = preflightOnNode({ files, dir, facts: readNodeFacts(facts.arch) })
  const secrets = { machine, privateKey: async () => session.sealing.privateKey }
  const server = new KeptReading(clock, session.serverVersion, () => components.wakeStaged())
  const components: AllComponents = new AllComponents({
    ...base,
    processes: supervisor,
    runHook: runHook(dir, environment),
    stage: (request, stop) =>
      stage({ files, dir, client, fetcher, trust, clock, platform, preflight, secrets }, request, stop),
    serverVersion: () => server.value,
    readPermit: (assigned, permit) =>
      readPermit(client, permit, { operation: 'SwitchComponent', targets: targets(), assigned }),
    readNodePending: () => nodeObject.isPending(),
    machine,
    refusal: (spec) => refusalOf(trust, spec, () => server.value),
    isNodeFrozen: isNodeFrozen(files, dir),
    look: (probe, _, watchedMs) =>
      look(
        probe,
        {
          dir,
          address,
          now: () => clock.now(),
          environment,
          systemctl,
          leaseRenewal: () => leaseRenewal(client, ground.node),
        },
        watchedMs,
      ),
    onChange,
  })
  return components
}

/** Revoked, below its floor, or too far from the API server. What is not known is no refusal. */
async function refusalOf(
  trust: TrustStore,
  spec: MachineComponentSpec,
  serverVersion: () => string | undefined,
): Promise<string | undefined> {
  const now = await trust.current()
  if (now.kind !== 'None') {
    const revoked = (spec.artifacts ?? []).some((a) => now.document.revoked.includes(a.sha256))
    const problem = revoked ? 'it is revoked' : floorProblem(now.document, spec.component, spec.version)
    if (problem !== undefined) return problem
  }
  const server = serverVersion()
  return spec.skew === undefined || server === undefined ? undefined : skewRefusal(spec, server)
}
