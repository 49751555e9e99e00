// Reports as the server sends them: the cells of `kubenode report`, and the last hours as the console saw them. Types only.
import type { Stamp } from './basics.ts'

/** GET /api/report?kind=&cluster=&since= */
export interface ReportAnswer {
  readonly report: ReportShown
  /** The last hours, oldest first; left out for users who may not read machines. */
  readonly seen?: readonly MachineCounts[]
  /** The equivalent terminal command. */
  readonly command: string
}

export type ReportKindShown = 'fleet' | 'pool' | 'repairs' | 'release'

/** Machines of one cluster at one moment, as the console counted them. */
export interface MachineCounts {
  readonly at: Stamp
  readonly total: number
  readonly ready: number
  readonly silent: number
  readonly repairing: number
}

interface ReportShown {
  readonly title: string
  readonly cluster: string
  readonly from: Stamp
  readonly to: Stamp
  readonly headline: { readonly text: string; readonly value: number | null }
  readonly sections: readonly ReportSection[]
  readonly unknown: readonly string[]
}

export interface ReportSection {
  readonly title: string
  readonly about: string
  /** Kind of the objects behind the figures. */
  readonly kind?: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly ReportCell[])[]
  readonly chart?: ReportChart
}

export interface ReportCell {
  readonly text: string
  /** Null: not known. */
  readonly value: number | string | null
  readonly object?: { readonly kind: string; readonly name: string; readonly namespace?: string }
}

export interface ReportChart {
  readonly form: 'rows' | 'columns'
  readonly title: string
  readonly most?: number
  readonly bars: readonly { readonly label: string; readonly value: number | undefined; readonly text: string }[]
}
