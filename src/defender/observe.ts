// Builds the snapshot of a decision from the caches, and asks the server where the caches alone are not enough.
import { BRAKE_NAME } from '#api/kinds/fleet-brake.ts'
import { LEDGER_NAME, type DefenderLedger, defenderLedger, type LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { CommittedContents } from '#declared/committed.ts'
import { hostsOf } from '#nodes/own-pods.ts'
import { cohortOf } from './blame/latch.ts'
import { BlameWatch } from './blame/watch.ts'
import { isBudgetExempt } from './budget-exempt.ts'
import { BY_COMPONENT, type Caches, componentKey, staleness } from './caches.ts'
import { FleetWatch } from './fleet-watch.ts'
import { DeletedWatch } from './deleted-watch.ts'
import { isInForce, readable } from '#permits/holds/in-force.ts'
import { LeaseWatch } from './lease-watch.ts'
import { type Grant, grantsOf } from './ledger.ts'
import { isOpen } from './permit-phase.ts'
import { PermitWatch } from './permit-watch.ts'
import { PolicyBook } from './policy-book.ts'
import { PoolBudgetsWatch } from './pool-budgets.ts'
import { IdleWatch } from './idle-watch.ts'
import { RecoveryWatch } from './recovery.ts'
import { asksPool, poolVerdicts, ruleVerdicts } from './rule-verdicts.ts'
import { isCanarys } from './gates/set-limit.ts'
import { setLimitOf } from './set-limits.ts'
import type { Snapshot } from './snapshot.ts'

export interface ObserverOptions {
  readonly client: KubeClient
  readonly caches: Caches
  readonly clock: Clock
  readonly log: Logger
  readonly cluster: string | undefined
  /** Undefined until the comparison is done. */
  readonly alteredPolicies?: (() => Snapshot['alteredPolicies']) | undefined
}

export class Observer {
  readonly leases: LeaseWatch
  readonly #options: ObserverOptions
  readonly #deleted: DeletedWatch
  readonly #idle: IdleWatch
  readonly #recoveries: RecoveryWatch
  readonly #blames: BlameWatch
  readonly #policies: PolicyBook
  readonly #fleet: FleetWatch
  readonly #budgets: PoolBudgetsWatch
  readonly #permits = new PermitWatch()

  constructor(options: ObserverOptions) {
    this.#options = options
    this.#policies = new PolicyBook(options.caches, new CommittedContents(options.caches))
    this.leases = new LeaseWatch(options.clock)
    this.#deleted = new DeletedWatch(options.client)
    this.#idle = new IdleWatch(options.client, options.clock)
    this.#recoveries = new RecoveryWatch(options)
    this.#blames = new BlameWatch(options.clock)
    this.#budgets = new PoolBudgetsWatch(options)
    this.#fleet = new FleetWatch(options.caches)
  }

  /** Records and reports changes until the returned function is called. */
  listen({ permits, fleet }: { readonly permits: () => void; readonly fleet: () => void }): () => void {
    const removePermits = this.#options.caches.permits.onChange((before, now) => {
      this.#permits.put(before, now)
      permits()
    })
    const removeFleet = this.#fleet.listen(fleet)
    return () => {
      removePermits()
      removeFleet()
    }
  }

  async observe(ledger: LedgerSpec | undefined): Promise<Snapshot> {
    const { caches, clock, cluster } = this.#options
    const open = this.#permits.open()
    this.leases.observe(open)
    const fleet = this.#fleet.now()
    const grants = grantsOf(ledger)
    const policies = this.#policies.inForce(clock.now())
    // Incomplete caches lack everything, so there is nothing to ask the server about.
    const unknown = staleness(caches)
    if (unknown === undefined) {
      await this.#deleted.observe(
        grants,
        open.flatMap((p) => p.spec.targets),
        (uid) => this.#permits.of(uid) !== undefined,
        fleet,
      )
      await this.#idle.observe(
        grants.filter((g) => g.state === 'Orphaned'),
        fleet,
      )
      await this.#recoveries.observe(open, {
        setNamed: (name) => caches.sets.get(name),
        machineNamed: (name) => caches.machines.get(name),
        definitions: (component, version) => caches.components.byIndex(BY_COMPONENT, componentKey(component, version)),
      })
    }
    const permits = [...open, ...endedBehind(grants, this.#permits)]
    return {
      permits,
      policies,
      holds: caches.holds.list().toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1)),
      approvals: caches.approvals.list(),
      brake: caches.brakes.get(BRAKE_NAME)?.spec,
      fleet,
      maintenance: caches.maintenance.list(),
      alteredPolicies: this.#options.alteredPolicies?.(),
      hosts: hostsOf(caches.pods.list()),
      unknown,
      cluster,
      wall: clock.now(),
      leasesOver: this.leases.over(),
      deletedPermits: this.#deleted.permits,
      deletedTargets: this.#deleted.targets,
      setLimits: permits.some(isCanarys) ? caches.sets.list().flatMap(setLimitOf) : [],
      isIdle: (grant) => this.#idle.isIdle(grant),
      isRecovery: (permit, target) => this.#recoveries.isRecovery(permit, target),
      isBudgetExempt: (permit) =>
        isBudgetExempt(permit, caches.inventories.list(), {
          setNamed: (name) => caches.sets.get(name),
          now: clock.now(),
        }),
      isWithoutDisruption: (permit) => isWithoutDisruption(permit, caches),
      // If a cache lacks machines, every group looks small.
      suspicions:
        unknown === undefined
          ? this.#blames.observe(
              {
                permits: () => caches.permits.list(),
                grants,
                fleet,
                wall: clock.now(),
                maintenance: caches.maintenance.list(),
              },
              (ledger?.blames ?? []).map(cohortOf),
            )
          : [],
      retried: retriedComponents(caches, clock.now()),
      rules: await ruleVerdicts(policies, fleet, grants.length, clock.now()),
      ...(policies.some(asksPool) && {
        poolRules: await poolVerdicts(policies, await this.#budgets.now(), fleet, grants.length, clock.now()),
      }),
    }
  }

  /** The server's ledger, for the first cycle. The swap compares it with the server's again. */
  readLedger(): Promise<DefenderLedger | undefined> {
    return this.#options.client.get(defenderLedger, { name: LEDGER_NAME })
  }
}

/** Ended permits that still hold a slot. */
function endedBehind(grants: readonly Grant[], permits: PermitWatch): readonly OperationPermit[] {
  const ended = grants.flatMap((g) => permits.of(g.permitUid) ?? []).filter((p) => !isOpen(p))
  return [...new Set(ended)]
}

/** Looked up in the signed version itself. An unknown version may disrupt. */
function isWithoutDisruption({ spec }: OperationPermit, { components }: Caches): boolean {
  const { component, operations } = spec
  if (component?.version === undefined || operations.some((o) => o !== 'SwitchComponent')) return false
  const found = components.byIndex(BY_COMPONENT, componentKey(component.name, component.version))
  return found.length > 0 && found.every((c) => c.spec.disruption === 'None')
}

/** A hold that allows a set to retry a blocked or blamed component. */
function retriedComponents({ holds, sets }: Caches, now: number): ReadonlySet<string> {
  const retries = holds
    .list()
    .map(readable)
    .filter((h) => h.spec.effect === 'Retry' && isInForce(h, now))
  const names = retries.flatMap(({ spec: { target } }) => {
    const set = target.kind === 'MachineComponentSet' && target.name !== undefined ? sets.get(target.name) : undefined
    return (set?.spec.components ?? []).map((c) => c.name)
  })
  return new Set(names)
}
