// Rights of deploy/charts/roles.ts that no recorded test uses, with the reason. It only gets shorter: a right that a recording shows leaves it.
export interface UnusedRight {
  /** As the table writes it: `identity: verb resource.group …`. */
  readonly right: RegExp
  readonly reason: string
  /** The test that exercises it in another way; '' where none can on the embedded server. */
  readonly test: string
}

export const UNUSED: readonly UnusedRight[] = []
