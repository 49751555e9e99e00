// Switches a component from one slot to another, and back. Every step can be repeated: the journal records the open switch, and one symbolic link
// defines the version in use.
import { isReason } from '#api/catalogue.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { shortened } from '#lib/shortened.ts'
import { parseDuration } from '#lib/duration.ts'
import { type HealthyVersion, withHealthy } from '#api/protocol/healthy-before.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { isAdopted, readKept } from './kept.ts'
import { slotsFolder } from '../node-dir.ts'
import { causeOf, switchCause, type Cause } from './cause.ts'
import type { Journal } from './journal.ts'
import type { SlotOf } from './effect.ts'
import { Installer, type InstallerDeps } from './installer.ts'
import { maskedError } from './masked.ts'
import { MAX_PINS, type ComponentRecord, type Pin, type SharedWith, type Slot } from './record.ts'
import { RebootSwitch, type RebootSwitchDeps, type Then } from './reboot-switch.ts'
import { readSlot, removeSlot } from './slot.ts'
import { agentErrors } from '../agent-errors.ts'

type HookName = 'preInstall' | 'postInstall' | 'preSwitch' | 'postSwitch'

export interface SwitchDeps extends InstallerDeps, RebootSwitchDeps {
  /** Throws when the hook fails. */
  readonly runHook: (command: readonly string[], timeoutMs: number, component: string) => Promise<void>
}

export class Switcher {
  readonly #deps: SwitchDeps
  readonly #component: string
  readonly #journal: Journal
  readonly #installer: Installer
  readonly #reboot: RebootSwitch

  constructor(deps: SwitchDeps, component: string, journal: Journal) {
    this.#deps = deps
    this.#component = component
    this.#journal = journal
    this.#installer = new Installer(deps, component)
    this.#reboot = new RebootSwitch(deps, component, journal)
  }

  /** From here the switch ends in the new version or, automatically, in the old one. */
  async begin(to: Slot, permit: string | undefined): Promise<void> {
    const record = this.#journal.demand()
    const from = record.current
    const change = {
      open: {
        to,
        phase: 'Switching' as const,
        ...defined({ from, permit }),
      },
    }
    if (permit === undefined)
      await this.#journal.step('firstInstall', { neverInstalled: from === undefined, nodePendingTaint: true }, change)
    else await this.#journal.step('switch', { orderForAttempt: true, permitGrantedNow: true }, change)
    await this.go()
  }

  /** A repair switches to a fresh copy of the same version; the caller has checked its permit. */
  async beginAgain(to: Slot): Promise<void> {
    const { current } = this.#journal.demand()
    await this.#journal.step(
      'reinstall',
      { reinstallPermitted: true, sameVersion: current?.digest === to.digest },
      { open: { to, phase: 'Switching', ...defined({ from: current }) } },
    )
    await this.go()
  }

  /** Resumes an open switch wherever it was interrupted, up to the probes. Reverts when it cannot finish. */
  async go(): Promise<void> {
    const record = this.#journal.demand()
    const { open } = record
    if (open === undefined) return
    if (open.phase === 'GoingBack') {
      await this.goBack({ because: 'RolledBackByAgent', message: record.message ?? 'the rollback was interrupted' })
      return
    }
    let reached = open
    try {
      const spec = await this.#specOf(open.to)
      const then = await this.#reboot.beforeUse({ id: open.to.id, spec }, open)
      if (then === 'Wait') return
      // An incomplete slot cannot be reverted to, but it does not block its successor.
      const before = open.from === undefined ? undefined : await readSlot(this.#deps, this.#component, open.from.id)
      // Check before anything is stopped: a masked unit could not be started again.
      const masked = await maskedError(this.#deps, spec)
      if (masked !== undefined) throw masked
      // The hooks that run before the switch already ran before the reboot.
      const isBooted = open.reboot !== undefined
      if (!isBooted) await this.#hook(spec, 'preInstall')
      if (!isBooted) await this.#hook(spec, 'preSwitch')
      await this.#installer.use(
        { id: open.to.id, spec },
        open.from === undefined || before === undefined ? undefined : { id: open.from.id, spec: before },
        then,
      )
      if (!isBooted) await this.#hook(spec, 'postInstall')
      if (then === 'Stop') {
        await this.#reboot.awaitReboot({ id: open.to.id, spec }, open)
        return
      }
      reached = this.#journal.demand().open ?? open
      await this.#hook(spec, 'postSwitch')
    } catch (e) {
      if (isPowerLoss(e)) throw e
      await this.goBack(switchCause(e))
      return
    }
    if (open.phase === 'Switching')
      await this.#journal.step(
        'started',
        { versionRuns: true },
        { current: open.to, open: { ...reached, phase: 'Probing' } },
      )
  }

  /** The caller has read the permit as Granted in this pass. */
  reboot(): Promise<void> {
    return this.#reboot.request()
  }

  shareReboot(others: readonly SharedWith[]): Promise<void> {
    return this.#reboot.share(others)
  }

  async commit(): Promise<void> {
    const { open, current, previous, healthy } = this.#journal.demand()
    if (open === undefined) return
    const held = current ?? open.to
    const now = healthyVersionOf(held)
    const kept = open.from?.id === open.to.id ? previous : (open.from ?? previous)
    try {
      await this.#reboot.confirm(await readSlot(this.#deps, this.#component, held.id), open)
    } catch (e) {
      if (isPowerLoss(e)) throw e
      await this.goBack(causeOf(e, 'InstallFailed'))
      return
    }
    await this.#journal.step(
      'commit',
      { probesHeld: true },
      {
        open: undefined,
        staged: undefined,
        current: held,
        previous: kept,
        ...(now !== undefined && { healthy: withHealthy(healthy, now) }),
      },
    )
    await this.dropOldSlots()
  }

  /** Restarts a process that exited in its settle window. Recorded first: if the agent crashes in between, the next exit still counts. */
  async startAgain(how: string): Promise<void> {
    const { open } = this.#journal.demand()
    if (open === undefined) return
    const message = `${how} in its settle window; started again, the next end counts`
    const change = (isStarted: boolean) => ({ open: { ...open, secondStart: { how, isStarted } }, message })
    await this.#journal.write(change(false))
    try {
      await this.restart()
    } catch (e) {
      if (isPowerLoss(e)) throw e
      return this.goBack(causeOf(e, 'InstallFailed'))
    }
    await this.#journal.write(change(true))
    return undefined
  }

  /**
   * Reverts to the previous version. Needs neither the API server nor a permit. If the machine rebooted for the new version, the first call installs the
   * old one and leaves it stopped. The next call starts it, after the reboot or because there is none; `pending` explains why there is none.
   */
  async goBack(given: Cause, pending?: string): Promise<void> {
    const record = this.#journal.demand()
    // An interrupted revert continues with its original cause.
    const {
      because: reason,
      message,
      output,
    } = record.open?.phase === 'GoingBack' && isReason(record.reason)
      ? { ...given, ...record, because: record.reason }
      : given
    const { open } = record
    if (open === undefined) return
    this.#deps.log.warn('rolling the component back', {
      component: this.#component,
      to: open.from?.version,
      reason,
      message,
    })
    // Written first: after a crash the reverted version must not be mistaken for the new one.
    if (open.phase !== 'GoingBack')
      await this.#journal.write({ open: { ...open, phase: 'GoingBack' }, message, reason, output })
    const isSame = open.from?.digest === open.to.digest
    const hadForeign = isAdopted(await readKept(this.#deps, this.#component))
    const pins = isSame ? record.pins : withPin(record, open.to)
    const failed = await readSlot(this.#deps, this.#component, open.to.id)
    await this.#reboot.giveUp(failed, open)
    const isFirstOfTwo = await this.#reboot.needsRebootBack(open, failed)
    const text = pending === undefined ? message : `${shortened(message, MAX_CAUSE)}; a reboot is pending: ${pending}`
    const change = { open: undefined, staged: undefined, current: open.from, message: text, reason, output, pins }
    const problem = await this.#restore(open.to, open.from, isFirstOfTwo ? 'Stop' : 'Start')
    if (isFirstOfTwo && problem === undefined)
      return this.#reboot.awaitRebootBack(open, { because: reason, message, ...defined({ output }) })
    await this.#reboot.withdraw(open)
    const isForeignBack = open.from === undefined && (hadForeign || this.#reboot.isKernel(open, failed))
    // After a reboot for the version, another try would cost two more.
    const isHosts = reason === 'HostUnsuitable' && open.reboot === undefined && !isSame
    if (isHosts && problem === undefined)
      await this.#journal.step(
        'postpone',
        { previousRuns: true, hostFailed: true },
        { ...change, pins: record.pins, staged: open.to },
      )
    else if (isSame && problem === undefined)
      await this.#journal.step('putBack', { previousRuns: true, sameVersion: true }, change)
    else if ((open.from !== undefined || isForeignBack) && problem === undefined)
      await this.#journal.step('rollBack', { previousRuns: true }, change)
    else await this.#journal.step('break', { nothingRuns: true }, { ...change, message: problem ?? message })
    await this.dropOldSlots()
    return undefined
  }

  /** Ends an attempt that the host does not let begin again. What ran before runs. */
  async giveUp({ because: reason, message, output }: Cause): Promise<void> {
    const record = this.#journal.demand()
    const { staged } = record
    if (staged === undefined) return
    const change = { staged: undefined, message, reason, output, pins: withPin(record, staged) }
    await this.#journal.step('rollBack', { orderForAttempt: true, previousRuns: true, hostFailed: true }, change)
    await this.dropOldSlots()
  }

  /** Starts the version in use, if it has a service. */
  async start(): Promise<void> {
    const { current } = this.#journal.demand()
    if (current === undefined) return
    await this.#installer.start({ id: current.id, spec: await this.#specOf(current) })
  }

  async restart(): Promise<void> {
    await this.#deps.processes.stop(this.#component)
    await this.start()
  }

  /** Keeps the slot in use, the slot to revert to, and the staged slot. */
  async dropOldSlots(): Promise<void> {
    const { files, dir } = this.#deps
    const { current, previous, staged, open } = this.#journal.demand()
    const kept = new Set([current, previous, staged, open?.to, open?.from].map((s) => s?.id))
    const found = await files.list(slotsFolder(dir, this.#component))
    for (const id of found) if (!kept.has(id)) await removeSlot(this.#deps, this.#component, id)
    await this.#reboot.tidy(() => this.#versionsIn(found.filter((id) => kept.has(id))))
  }

  async #versionsIn(ids: readonly string[]): Promise<readonly SlotOf[]> {
    const specs = ids.map(async (id) => ({ id, spec: await readSlot(this.#deps, this.#component, id) }))
    return (await Promise.all(specs)).flatMap(({ id, spec }) => (spec === undefined ? [] : [{ id, spec }]))
  }

  async #specOf(slot: Slot): Promise<MachineComponentSpec> {
    const spec = await readSlot(this.#deps, this.#component, slot.id)
    if (spec === undefined)
      throw new KubeNodeError(
        agentErrors.KN8037_slot({ component: this.#component, version: slot.version, id: slot.id }),
      )
    return spec
  }

  /** Why the revert failed; undefined when the old version, or nothing, is in place again. */
  async #restore(to: Slot, from: Slot | undefined, then: Then): Promise<string | undefined> {
    try {
      const spec = await readSlot(this.#deps, this.#component, to.id)
      const failed = spec && { id: to.id, spec }
      if (from === undefined) await this.#installer.undoFirst(failed)
      else await this.#installer.use({ id: from.id, spec: await this.#specOf(from) }, failed, then)
      return undefined
    } catch (e) {
      if (isPowerLoss(e)) throw e
      return messageOf(e)
    }
  }

  async #hook(spec: MachineComponentSpec, name: HookName): Promise<void> {
    const hook = spec.hooks?.[name]
    if (hook !== undefined) await this.#deps.runHook(hook.command, parseDuration(hook.timeout), this.#component)
  }
}

/** Leaves room in the status for why a reboot is pending. */
const MAX_CAUSE = 90

/** A simulated power cut in a test must not look like a failed step. */
export const isPowerLoss = (e: unknown): boolean => e instanceof Error && e.constructor.name === 'PowerLost'

function withPin({ pins, target }: ComponentRecord, { digest, version, config }: Slot): readonly Pin[] {
  const pin: Pin = { digest, version, attempt: target.attempt, ...defined({ config }) }
  return [...pins, pin].slice(-MAX_PINS)
}

/** Undefined for a slot filled by an older agent. */
const healthyVersionOf = ({ version, statement, config }: Slot): HealthyVersion | undefined =>
  statement === undefined ? undefined : { version, digest: statement, ...defined({ config }) }
