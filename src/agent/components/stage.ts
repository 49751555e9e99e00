// Prepares one version of a component on the node, so that only the switch remains. Reads the API and disrupts nothing.
import { KubeNodeError } from '#lib/errors.ts'
import { componentObjectName } from '#lib/names.ts'
import type { Clock } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ComponentVersion } from '#api/protocol/component-order.ts'
import { componentConfig, configDigest } from '#api/kinds/component-config.ts'
import { machineComponent, type MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { takenFromHost } from '#api/reserved-paths.ts'
import { judgeStatement } from '#api/trust/statement.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { artifactFor, bringArtifact, type ArtifactDeps, type Platform } from './artifact.ts'
import type { Slot } from './record.ts'
import { withSecrets, type SecretDeps } from './secrets.ts'
import { fillSlot, readSlot, type CheckedArtifact, type SlotContent } from './slot.ts'
import type { TrustStore } from './trust-store.ts'
import { type NodeDir, componentsFolder, slotsFolder } from '../node-dir.ts'
import type { OsPort } from '../os/port.ts'
import { agentErrors } from '../agent-errors.ts'

export interface StageDeps extends ArtifactDeps {
  readonly client: Pick<KubeClient, 'get'>
  readonly trust: Pick<TrustStore, 'current'>
  readonly clock: Pick<Clock, 'now'>
  readonly platform: Platform
  /** Throws when the version cannot be installed on this node. Absent where there is no real node. */
  readonly preflight?: Preflight
  /** Absent where the node has no boot loader. */
  readonly os?: Pick<OsPort, 'refusal' | 'stage'>
  /** Absent where secrets cannot be opened. */
  readonly secrets?: Pick<SecretDeps, 'machine' | 'privateKey'>
  /** Where downloads are kept, if not in `dir`. */
  readonly downloads?: NodeDir
}

export interface Preflight {
  before(spec: MachineComponentSpec, artifactBytes: number): Promise<void>
  /** Checks the programs in the filled slot. */
  programs(spec: MachineComponentSpec, slot: string): Promise<void>
}

export interface StageRequest extends ComponentVersion {
  /** Makes another copy of the same version, for a reinstall. */
  readonly generation?: number
}

export interface Staged {
  readonly slot: Slot
  readonly spec: MachineComponentSpec
}

/** Throws with `retry: never` when a retry cannot help. */
export async function stage(deps: StageDeps, request: StageRequest, signal: AbortSignal): Promise<Staged> {
  const { name: component, version, generation } = request
  const spec = await readStatement(deps, component, version)
  const config = request.config === undefined ? undefined : await readConfig(deps, component, request.config)
  const trust = await deps.trust.current()
  if (trust.kind === 'None') throw refused(request, trust.reason, 'later')
  const verdict = judgeStatement(spec, trust.document, deps.clock.now())
  // A newer trust document that was refused is the more likely cause, and the one a user can fix.
  if (verdict.kind === 'Refused') throw refused(request, trust.refused ?? verdict.reason, 'never')
  // Admission may have been unavailable, and a valid signature does not rule out mistakes.
  const [taken] = takenFromHost(spec)
  if (taken !== undefined)
    throw new KubeNodeError(
      agentErrors.KN8013({
        component,
        version,
        why: `${taken.name} belongs to ${taken.owner}, and a host does not run without it`,
      }),
      // The signature is valid, but the signed statement asks for too much.
      { retry: 'never', data: { reason: 'InvalidSpec' } },
    )
  signal.throwIfAborted()
  const size = artifactFor(spec, deps.platform)?.size ?? 0
  await deps.preflight?.before(spec, size)
  if (spec.type === 'OS') await refuseOs(deps, spec)
  const content: SlotContent = { spec, config, artifact: await artifactOf(deps, spec, signal) }
  signal.throwIfAborted()
  const slot = await fillSlot(deps, request, content, generation)
  await deps.preflight?.programs(spec, slot.id)
  if (spec.type === 'OS') await deps.os?.stage({ slot: slot.id, spec })
  return { slot, spec }
}

async function refuseOs(deps: StageDeps, spec: MachineComponentSpec): Promise<void> {
  const { os } = deps
  const { component, version } = spec
  const other = await otherKernel(deps, component)
  if (other !== undefined)
    throw new KubeNodeError(
      agentErrors.KN8019({
        component,
        version,
        why: `a machine has one component of type OS, and ${other} is installed here: remove one of them from the set`,
      }),
      { retry: 'later' },
    )
  const why = os === undefined ? 'it has no boot loader of its own' : await os.refusal(spec)
  if (why === undefined) return
  throw new KubeNodeError(
    agentErrors.KN8019({ component, version, why: `this machine cannot boot a kernel once and go back: ${why}` }),
    { retry: 'later' },
  )
}

/** Two would remove each other's kernels. */
async function otherKernel(deps: StageDeps, own: string): Promise<string | undefined> {
  const { files, dir } = deps
  for (const component of await files.list(componentsFolder(dir)))
    for (const slot of component === own ? [] : await files.list(slotsFolder(dir, component)))
      if ((await readSlot(deps, component, slot))?.type === 'OS') return component
  return undefined
}

const refused = ({ name: component, version }: ComponentVersion, why: string, retry: 'never' | 'later') =>
  new KubeNodeError(agentErrors.KN8013_trust({ component, version, why }), { retry })

async function readStatement(deps: StageDeps, component: string, version: string): Promise<MachineComponentSpec> {
  const name = componentObjectName(component, version)
  const found = await deps.client.get(machineComponent, { name })
  if (found === undefined) throw new KubeNodeError(agentErrors.KN8014({ component, version, name }), { retry: 'later' })
  // Defaults are not part of the signed content, so it does not matter whether the server filled them in.
  const { spec } = applyDefaults(machineComponent.schema, found) as typeof found
  if (spec.component !== component || spec.version !== version)
    throw new KubeNodeError(
      agentErrors.KN8015({
        component,
        version,
        name,
        declaredComponent: spec.component,
        declaredVersion: spec.version,
      }),
    )
  if (spec.type === 'DaemonSet') throw new KubeNodeError(agentErrors.KN8016({ component, version, type: spec.type }))
  return spec
}

async function readConfig(deps: StageDeps, component: string, name: string): Promise<SlotContent['config']> {
  const found = await deps.client.get(componentConfig, { name })
  if (found === undefined) throw new KubeNodeError(agentErrors.KN8026({ component, name }), { retry: 'later' })
  const { spec } = found
  if (spec.component !== component || configDigest(spec.values, spec.secrets) !== spec.digest)
    throw new KubeNodeError(agentErrors.KN8017({ component, name }))
  const secrets = spec.secrets ?? []
  if (secrets.length === 0) return { name, digest: spec.digest, values: spec.values }
  if (deps.secrets === undefined) throw new KubeNodeError(agentErrors.KN8025({ component }))
  const values = await withSecrets({ ...deps.secrets, client: deps.client }, component, spec.values, secrets)
  return { name, digest: spec.digest, values }
}

async function artifactOf(
  deps: StageDeps,
  spec: MachineComponentSpec,
  signal: AbortSignal,
): Promise<CheckedArtifact | undefined> {
  if (spec.install === undefined && spec.os?.packages === undefined) return undefined
  const artifact = artifactFor(spec, deps.platform)
  if (artifact === undefined)
    throw new KubeNodeError(
      agentErrors.KN8018({
        component: spec.component,
        version: spec.version,
        os: deps.platform.os,
        arch: deps.platform.arch,
      }),
    )
  const { sha256, size } = artifact
  return { path: await bringArtifact({ ...deps, dir: deps.downloads ?? deps.dir }, artifact, signal), sha256, size }
}
