// One deletion that the API server asks about.
export interface Deletion {
  readonly group: string
  readonly kind: string
  readonly name: string
  /** '' for cluster-scoped objects. */
  readonly namespace: string
  /** '' if the review does not contain it. */
  readonly uid: string
  /** The deleting user, as authenticated by the API server. */
  readonly user: string
  readonly isEnding: boolean
  /** A dry run: nothing is counted. */
  readonly isDryRun: boolean
}
