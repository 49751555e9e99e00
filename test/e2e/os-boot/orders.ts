// What the test tells the guest, and what the guest reports.

/** The folder of the test in the guest. */
export const HERE = '/kubenode'
export const END = 'end'
/** Boot arguments of a kernel that panics: without the initial file system there is no driver for the disk. */
export const PANICS = ['initcall_blacklist=populate_rootfs', 'panic=1']

export interface Order {
  readonly version: string
  readonly os: { readonly kernel: string; readonly bootArguments?: readonly string[] }
  /** Paths in the guest. */
  readonly packages?: readonly string[]
}

export interface Report {
  readonly order: string
  readonly problem?: string
  readonly cmdline?: string
  readonly kernel?: string
  readonly state?: string
  readonly current?: string | undefined
  readonly message?: string | undefined
  readonly environment?: readonly string[]
  /** Installed packages. */
  readonly kernels?: readonly string[]
}
