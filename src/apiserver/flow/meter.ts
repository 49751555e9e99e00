// Limits clients to a share of the processor where their level sets one, before anything of a request is read: a client that
// ran ahead waits in a queue of its own, and so does its data.
import type { Timer } from '#lib/clock.ts'
import type { FlowLevel } from './levels.ts'

type MeterLevel = Pick<FlowLevel, 'share' | 'burstMs' | 'atOnce' | 'waiting'>

export type Leave = () => void

export interface MeterTools {
  /** Monotonic. */
  readonly now: () => number
  readonly after: (ms: number, fn: () => void) => Timer
  readonly longestWaitMs: number
}

interface Waiting {
  readonly since: number
  readonly isGone: () => boolean
  /** Undefined: it waited too long. */
  readonly entered: (leave: Leave | undefined) => void
}

interface Account {
  readonly level: MeterLevel
  debtMs: number
  /** Time of that debt. */
  at: number
  open: number
  readonly waiting: Waiting[]
  timer: Timer | undefined
}

/** Cached clients; beyond it those without a debt are forgotten. */
const REMEMBERED = 4_096

export class Meter {
  readonly #tools: MeterTools
  readonly #accounts = new Map<string, Account>()

  constructor(tools: MeterTools) {
    this.#tools = tools
  }

  /** Undefined: too many of this client wait, or it waited too long. Call the returned function when the request ends. */
  enter(level: MeterLevel, flow: string, isGone: () => boolean): Leave | undefined | Promise<Leave | undefined> {
    if (level.share >= 1) return nothing
    const account = this.#account(flow, level)
    if (account.waiting.length === 0 && this.#mayEnter(account)) return this.#open(account)
    if (account.waiting.length >= level.waiting) return undefined
    return new Promise((entered) => {
      account.waiting.push({ since: this.#tools.now(), isGone, entered })
      this.#next(account)
    })
  }

  /** Clients without a limited share have no account. */
  charge(flow: string, ms: number): void {
    const account = this.#accounts.get(flow)
    if (account === undefined) return
    account.debtMs = this.#debt(account) + ms
    account.at = this.#tools.now()
  }

  #account(flow: string, level: MeterLevel): Account {
    let account = this.#accounts.get(flow)
    if (account === undefined) {
      if (this.#accounts.size >= REMEMBERED) this.#forget()
      account = { level, debtMs: 0, at: this.#tools.now(), open: 0, waiting: [], timer: undefined }
      this.#accounts.set(flow, account)
    }
    return account
  }

  #forget(): void {
    for (const [flow, a] of this.#accounts)
      if (a.open === 0 && a.waiting.length === 0 && this.#debt(a) <= 0) this.#accounts.delete(flow)
  }

  #debt = ({ debtMs, at, level }: Account): number => Math.max(0, debtMs - (this.#tools.now() - at) * level.share)

  #mayEnter = (a: Account): boolean => a.open < a.level.atOnce && this.#debt(a) <= a.level.burstMs

  #open(account: Account): Leave {
    account.open++
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      account.open--
      this.#next(account)
    }
  }

  #next(account: Account): void {
    const { now, longestWaitMs } = this.#tools
    account.timer?.cancel()
    account.timer = undefined
    for (let [first] = account.waiting; first !== undefined; [first] = account.waiting) {
      const leftMs = longestWaitMs - (now() - first.since)
      const isOver = leftMs < 0 || first.isGone()
      if (!isOver && !this.#mayEnter(account)) {
        // when its debt is low enough; requests that wait for its other requests are called when one ends
        const { burstMs, share, atOnce } = account.level
        const ms = account.open < atOnce ? (this.#debt(account) - burstMs) / share : leftMs
        account.timer = this.#tools.after(Math.max(0, Math.min(ms, leftMs)) + 1, () => this.#next(account))
        return
      }
      account.waiting.shift()
      first.entered(isOver ? undefined : this.#open(account))
    }
  }
}

const nothing: Leave = () => undefined
