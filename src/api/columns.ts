// Printer columns that several kinds share, and helpers for the others: a name, the value's path, and whether only `-o wide` shows it.

export interface PrinterColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  readonly jsonPath: string
  readonly description?: string
  /** Above 0, only `-o wide` shows it. */
  readonly priority?: number
}

type Column = (name: string, jsonPath: string) => PrinterColumn

export const text: Column = (name, jsonPath) => ({ name, type: 'string', jsonPath })
export const whole: Column = (name, jsonPath) => ({ name, type: 'integer', jsonPath })
export const date: Column = (name, jsonPath) => ({ name, type: 'date', jsonPath })
export const wide = (column: PrinterColumn): PrinterColumn => ({ ...column, priority: 1 })

/** For a condition. */
export const statusOf = (type: string): string => `.status.conditions[?(@.type=="${type}")].status`

export const PHASE = text('Phase', '.status.phase')
export const READY = text('Ready', statusOf('Ready'))
export const AGE = date('Age', '.metadata.creationTimestamp')
