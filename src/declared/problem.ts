// A problem in objects that are declared together. A certain one cannot work on any cluster and is refused; others may be intended and are reported.
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { ErrorCode, ErrorMessage } from '#lib/errors.ts'
import type { KubeObject } from '#api/schema/object.ts'

export interface DeclaredProblem {
  readonly object: KubeObject
  /** JSON pointer into the object. */
  readonly pointer: string
  readonly code: ErrorCode
  readonly message: string
  readonly isCertain: boolean
  /** For information: nothing is wrong. */
  readonly isNote?: true
  /** Words that locate the place in the files. */
  readonly words: readonly string[]
}

export const isComponent = (object: KubeObject): object is MachineComponent => object.kind === 'MachineComponent'

interface Where {
  readonly object: KubeObject
  readonly pointer: string
  readonly words?: readonly string[]
}

export const certain = (at: Where, { code, text }: ErrorMessage): DeclaredProblem => ({
  words: [],
  ...at,
  code,
  message: text,
  isCertain: true,
})

export const doubtful = (at: Where, message: ErrorMessage): DeclaredProblem => ({
  ...certain(at, message),
  isCertain: false,
})

/** How people see it: the last two do not refuse a commit. */
export const levelOf = ({
  isCertain,
  isNote,
}: Pick<DeclaredProblem, 'isCertain' | 'isNote'>): 'error' | 'warning' | 'note' =>
  isCertain ? 'error' : isNote === true ? 'note' : 'warning'
