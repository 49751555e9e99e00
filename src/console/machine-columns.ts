// The machine columns that the server sends and the page draws. Runs in browsers.

/** A machine's columns, in the order of a delta's rows. All but `since` contain an index into `words`. */
export const MACHINE_COLUMNS = [
  /** Name of the Node; empty if it equals the Machine's, or there is none yet. */
  'node',
  'phase',
  'zone',
  'rack',
  'pool',
  'class',
  /** Its components, sorted by name: `containerd=2.1.4,kubelet=1.34.2`. */
  'versions',
  /** The worst component state (a phase of Component); empty without components. */
  'health',
  /** Phase of the running repair; empty if there is none. */
  'repair',
  /** `Yes`, `No` or `Unknown`: whether its agent is silent, from the Machine's conditions. */
  'silent',
  /** The blame it shares with others, such as `Component kubelet 1.34.2`; empty if none. */
  'blame',
  /** Reason of the condition Ready while it is not True; otherwise empty. */
  'reason',
  /** Type of its Node's first problem condition; empty if there is none, `Unknown` while the Node is unknown. */
  'condition',
  /** Version of its kernel; empty if unknown. */
  'kernel',
  /** Its labels, sorted by name: `pool=workers,team=blue`. */
  'labels',
  /** Since when Ready has its status, in seconds since 1970; 0 if unknown. */
  'since',
] as const

export type MachineColumn = (typeof MACHINE_COLUMNS)[number]
