// What one look of a detector says of one condition.
export interface Reading {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
}
