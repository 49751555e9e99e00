// One deletion that the API server asks about.
export interface Deletion {
  readonly group: string
  readonly kind: string
  readonly name: string
  /** '' for what is in none. */
  readonly namespace: string
  /** '' when the review does not say. */
  readonly uid: string
  /** The user who deletes, as known to the API server. */
  readonly user: string
  readonly isEnding: boolean
  /** A dry run: nothing is counted. */
  readonly isDryRun: boolean
}
