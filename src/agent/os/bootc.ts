// The image that a machine boots, as a component: bootc keeps the deployments, GRUB counts the first boot. What to do is decided in bootc-moves.ts.
import { KubeNodeError, assertNever } from '#lib/errors.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { agentErrors } from '../agent-errors.ts'
import type { BootHost } from './boot-host.ts'
import { bootCountingOf } from './boot-counting.ts'
import { type BootTree, type Steps, textIn } from './boot-loader.ts'
import { type Deployments, type Goal, type Move, nextMove, otherStaged } from './bootc-moves.ts'
import {
  BOOTC,
  type BootcStatus,
  type Deployment,
  LOCK_FILE,
  MAX_STATUS_BYTES,
  OSTREE_PROGRAM,
  REBOOT_REQUEST,
  parseBootcStatus,
  shortDigest,
} from './bootc-status.ts'
import type { Mismatch, OsPort, OsVersion } from './port.ts'

const OF_BOOTC = 'bootc: '
const STATUS = [BOOTC, 'status', '--format=json', '--format-version=1'] as const
const UPDATER = 'bootc-fetch-apply-updates.timer'
/** The longest way takes four; more means that something else changes the deployments at the same time. */
const MOST_MOVES = 8

export interface BootedImagesDeps {
  readonly host: BootHost
  /** As components name it. */
  readonly arch: string
}

export class BootedImages implements OsPort {
  readonly #deps: BootedImagesDeps
  /** Does not change within a boot, and an agent does not outlive one. */
  #booted: Deployment | undefined

  constructor(deps: BootedImagesDeps) {
    this.#deps = deps
  }

  async refusal(spec: MachineComponentSpec): Promise<string | undefined> {
    const { host, arch } = this.#deps
    if (imageFor(spec, arch) === undefined)
      return `this host boots whole images, and the version names none for ${arch} in os.images`
    const tree = await host.read()
    const absent = [BOOTC, OSTREE_PROGRAM].find((program) => !tree.paths.has(program))
    if (absent !== undefined) return `${absent} is not installed: OSTree without bootc is not known here`
    const counting = bootCountingOf(tree)
    if ('missing' in counting) return counting.missing
    const status = await this.#status()
    if ('unknown' in status) return status.unknown
    const { staged } = status
    if (staged !== undefined && staged.digest !== digestFor(spec, arch) && !tree.paths.has(LOCK_FILE))
      return otherStaged(staged.digest)
    const updater = await host.query(['/usr/bin/systemctl', 'is-active', UPDATER])
    return updater?.trim() === 'active'
      ? `${UPDATER} is active and would reboot into other images without a permit: run systemctl mask --now ${UPDATER}`
      : undefined
  }

  stage({ spec }: OsVersion): Promise<void> {
    return this.#reach({ kind: 'Staged', digest: this.#digest(spec) }, spec)
  }

  async byDefault(): Promise<string | undefined> {
    const { booted, rollback, isRollbackNext } = await this.#demandStatus()
    return isRollbackNext ? rollback?.id : booted.id
  }

  /** A power cut loses what was staged, so it is staged again. */
  arm({ spec }: OsVersion): Promise<void> {
    return this.#reach({ kind: 'Armed', digest: this.#digest(spec) }, spec)
  }

  putOnTrial({ spec }: OsVersion): Promise<void> {
    return this.#reach({ kind: 'OnTrial', digest: this.#digest(spec) }, spec)
  }

  disarm(before: string | undefined, failed?: MachineComponentSpec): Promise<void> {
    const digest = failed && digestFor(failed, this.#deps.arch)
    return this.#reach({ kind: 'GivenUp', before, digest }, failed)
  }

  confirm(): Promise<void> {
    return this.#reach({ kind: 'Confirmed' }, undefined)
  }

  async mismatch({ spec }: OsVersion): Promise<Mismatch | undefined> {
    const { host, arch } = this.#deps
    const digest = digestFor(spec, arch)
    const { kernel } = await host.running()
    if (digest === undefined) return { what: `the version names no image for ${arch}`, booted: 'Other' }
    if (this.#booted === undefined) {
      const status = await this.#status()
      if ('unknown' in status) return { what: `it is unknown which image runs: ${status.unknown}`, booted: 'Unknown' }
      this.#booted = status.booted
    }
    if (this.#booted.digest !== digest)
      return { what: `the image ${shortDigest(this.#booted.digest)} runs, not ${shortDigest(digest)}`, booted: 'Other' }
    const wanted = spec.os?.kernel
    return wanted === kernel
      ? undefined
      : { what: `Linux ${kernel} runs in this image, not ${wanted ?? ''}`, booted: 'This' }
  }

  /** bootc keeps what runs and one deployment to go back to, and removes the others itself. */
  async tidy(): Promise<void> {}

  /** One move after the other, each decided over what the one before has left. */
  async #reach(goal: Goal, spec: MachineComponentSpec | undefined): Promise<void> {
    let hasSwitched = false
    for (let moves = 0; moves < MOST_MOVES; moves++) {
      const tree = await this.#deps.host.read()
      const next = nextMove(goal, this.#seen(tree, await this.#demandStatus(), hasSwitched))
      if (next.kind === 'Done') return
      if (next.kind === 'Refused') throw cannotInstall(goal, next.why)
      await this.#make(next.move, tree, spec)
      hasSwitched ||= next.move === 'Switch'
    }
    throw new KubeNodeError(agentErrors.KN8099({ why: 'something else changes its deployments at the same time' }), {
      retry: 'later',
    })
  }

  #seen(tree: BootTree, status: BootcStatus, hasSwitched: boolean): Deployments {
    const counting = bootCountingOf(tree)
    const [isCounting, isCountingOne] = 'missing' in counting ? [false, false] : [counting.isOn, counting.isOne]
    const isLocked = tree.paths.has(LOCK_FILE)
    const asksForReboot = textIn(tree, REBOOT_REQUEST).startsWith(OF_BOOTC)
    return { status, isLocked, isCounting, isCountingOne, asksForReboot, hasSwitched }
  }

  async #make(move: Move, tree: BootTree, spec: MachineComponentSpec | undefined): Promise<void> {
    switch (move) {
      case 'Switch': {
        const image = spec && imageFor(spec, this.#deps.arch)
        const problem = await this.#deps.host.change([BOOTC, 'switch', '--transport', 'registry', image ?? ''])
        if (problem === undefined) return
        throw new KubeNodeError(agentErrors.KN8097({ what: image ?? '', why: problem }), { retry: 'later' })
      }
      case 'Lock':
        return this.#run([OSTREE_PROGRAM, 'admin', 'lock-finalization'])
      case 'Unlock':
        return this.#run([OSTREE_PROGRAM, 'admin', 'lock-finalization', '--unlock'])
      case 'Rollback':
        return this.#run([BOOTC, 'rollback'])
      case 'CountOne':
        return this.#carryOut(counted(tree, 'countOne'))
      case 'StopCounting':
        return this.#carryOut(counted(tree, 'stop'))
      case 'DropRebootRequest':
        return this.#carryOut({ kind: 'Steps', steps: [{ kind: 'Remove', path: REBOOT_REQUEST }] })
      default:
        return assertNever(move)
    }
  }

  async #run(command: readonly string[]): Promise<void> {
    const problem = await this.#deps.host.change(command)
    if (problem !== undefined)
      throw new KubeNodeError(agentErrors.KN8099({ why: `${command.join(' ')}: ${problem}` }), { retry: 'later' })
  }

  async #carryOut(steps: Steps): Promise<void> {
    if (steps.kind === 'Refused') throw new KubeNodeError(agentErrors.KN8099({ why: steps.missing }))
    await this.#deps.host.carryOut(steps.steps)
  }

  async #status() {
    return parseBootcStatus(await this.#deps.host.query(STATUS, MAX_STATUS_BYTES))
  }

  async #demandStatus(): Promise<BootcStatus> {
    const status = await this.#status()
    if ('unknown' in status) throw new KubeNodeError(agentErrors.KN8099({ why: status.unknown }), { retry: 'later' })
    return status
  }

  #digest(spec: MachineComponentSpec): string {
    const { arch } = this.#deps
    const digest = digestFor(spec, arch)
    if (digest === undefined)
      throw new KubeNodeError(agentErrors.KN8099({ why: `the version names no image for ${arch}` }))
    return digest
  }
}

const imageFor = ({ os }: MachineComponentSpec, arch: string): string | undefined =>
  os?.images?.find((i) => i.arch === arch)?.image

const digestFor = (spec: MachineComponentSpec, arch: string): string | undefined =>
  imageFor(spec, arch)?.split('@').at(-1)

function counted(tree: BootTree, how: 'countOne' | 'stop'): Steps {
  const counting = bootCountingOf(tree)
  return 'missing' in counting ? { kind: 'Refused', missing: counting.missing } : counting[how]()
}

const cannotInstall = (goal: Goal, why: string): KubeNodeError =>
  goal.kind === 'Staged'
    ? new KubeNodeError(agentErrors.KN8097({ what: `the image ${shortDigest(goal.digest)}`, why }), { retry: 'later' })
    : new KubeNodeError(agentErrors.KN8099({ why }), { retry: 'later' })
