// What a benchmark hands back. The names of the figures are a contract: other tools read the line of JSON.

export type Figures = Readonly<Record<string, number>>

export interface Peer {
  readonly name: string
  readonly figures: Figures
  /** What it did not finish within the bound of the bench. */
  readonly unfinished?: readonly string[]
}

export interface BenchResult {
  readonly figures: Figures
  /** The other program that did the same work on this machine in the same run. */
  readonly peer: Peer | null
  /** How many times better than the peer, median over the rounds. */
  readonly ratio: Figures
  /** Versions beyond those of Node and KubeNode, such as the peer's. */
  readonly versions?: Readonly<Record<string, string>>
}

/** What the measured programs talk to; `real` is a kube-apiserver with etcd and controller manager, from the folder that KUBEBUILDER_ASSETS names. */
export type ServerKind = 'embedded' | 'real'

export interface BenchOptions {
  /** `name=number` arguments, for a smaller or longer run; a bench has a default for each it knows. */
  readonly numbers: Figures
  readonly server: ServerKind
}

export interface Bench {
  /** Sizes with which it ends within seconds on two cores: every part runs, and no figure means anything. */
  readonly smoke: Figures
  /** Its times are those of a clock that jumps: no machine makes them longer. */
  readonly isTimeless?: boolean
  /** Absent: it runs on the embedded server alone. */
  readonly servers?: readonly ServerKind[]
  run(options: BenchOptions): Promise<BenchResult>
}

/** The middle one; of an even count the lower middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN
}

/** Three significant digits; whole numbers stay whole. */
export const rounded = (n: number): number => (Number.isInteger(n) ? n : Number(n.toPrecision(3)))
