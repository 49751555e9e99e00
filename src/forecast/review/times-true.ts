// How often and how long each rule was true of a node, whether or not it repaired anything. Keeps one entry for each node and rule that is true now.
import type { NodeSeen } from '#controllers/remedy/seen.ts'
import type { FaultState } from './repairs-seen.ts'

export interface TrueSums {
  times: number
  longestMs: number
  /** Where and when it was true the longest. */
  longest: { readonly node: string; readonly at: number } | undefined
}

interface Open {
  readonly rule: string
  readonly node: string
  readonly uid: string
  readonly since: number
}

export class TimesTrue {
  readonly sums = new Map<string, TrueSums>()
  readonly #open = new Map<string, Open>()

  step(now: number, nodes: readonly NodeSeen[], faultOf: (one: Open) => FaultState): void {
    for (const [key, one] of this.#open) if (faultOf(one) !== 'Present') this.#close(key, one, now)
    for (const { name, uid, matches } of nodes)
      for (const rule of matches.keys()) {
        const key = `${uid} ${rule}`
        if (!this.#open.has(key)) this.#open.set(key, { rule, node: name, uid, since: now })
      }
  }

  end(now: number): void {
    for (const [key, one] of this.#open) this.#close(key, one, now)
  }

  #close(key: string, { rule, node, since }: Open, now: number): void {
    this.#open.delete(key)
    const sums = this.sums.get(rule) ?? { times: 0, longestMs: 0, longest: undefined }
    this.sums.set(rule, sums)
    sums.times++
    // Of equally long ones the first by name, whatever the order of rows.
    const isLonger =
      now - since > sums.longestMs || (now - since === sums.longestMs && node < (sums.longest?.node ?? '\uffff'))
    if (!isLonger) return
    sums.longestMs = now - since
    sums.longest = { node, at: since }
  }
}
