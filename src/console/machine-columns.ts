// The columns of the machines of a cluster, as the server sends them and the page draws them. Runs in browsers.

/** The columns of a machine, in the order of a delta's rows. Each but `since` holds an index into `words`. */
export const MACHINE_COLUMNS = [
  /** Name of the Node; the empty word when it is that of the Machine, or when there is none yet. */
  'node',
  'phase',
  'zone',
  'rack',
  'pool',
  'class',
  /** Its components: `containerd=2.1.4,kubelet=1.34.2`, by name. */
  'versions',
  /** The worst state of a component, a phase of Component; the empty word without components. */
  'health',
  /** Phase of the running repair; the empty word without one. */
  'repair',
  /** `Yes`, `No` or `Unknown`: whether its agent is silent. From conditions of the Machine. */
  'silent',
  /** What it is blamed for together with others, such as `Component kubelet 1.34.2`; the empty word when nothing. */
  'blame',
  /** Reason of the condition Ready while it is not True; the empty word otherwise. */
  'reason',
  /** Type of the first problem condition of its Node; the empty word when there is none, `Unknown` while its Node is not known. */
  'condition',
  /** Seconds since 1970: since when Ready has its status; 0 when unknown. */
  'since',
] as const

export type MachineColumn = (typeof MACHINE_COLUMNS)[number]
