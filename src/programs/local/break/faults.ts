// The faults that a person may provoke on a node of the local fleet: what happens then, and where to watch it. Data.
export const FAULTS = ['hung', 'network', 'kernel-log', 'memory', 'card', 'disk', 'clock'] as const
export type Fault = (typeof FAULTS)[number]

export interface FaultFacts {
  /** What KubeNode does about it. */
  readonly effect: string
  /** Command that shows it. */
  readonly watch: (node: string) => string
  /** How it ends if the user does nothing. */
  readonly ends: string
}

const WHY = (node: string): string => `kubenode why node/${node}`
const JOBS = (): string => 'kubenode get remedyoperationjobs'

/** Of process nodes. */
export const FACTS: Readonly<Record<Fault, FaultFacts>> = {
  hung: {
    effect: 'the agent finds the component frozen, and a rule has it restarted under a permit',
    watch: JOBS,
    ends: 'the restart ends it, within about ten seconds',
  },
  network: {
    effect: 'the agent sends no heartbeats, and the node is silent after 40 seconds',
    watch: WHY,
    ends: 'it stays until you repeat the command with --undo: no provider of this fleet can switch a node off and on',
  },
  'kernel-log': {
    effect: 'the agent reads the line and sets the condition of the log rule that it matches',
    watch: WHY,
    ends: 'the condition ends by itself after the time that the log rule gives',
  },
  memory: {
    effect:
      'the agent finds it within a minute; a rule drains the node and has another machine take its place, under a permit; a rule in DryRun only shows it',
    watch: JOBS,
    ends: 'the new machine has memory of its own; undo it before that to keep this one',
  },
  card: {
    effect:
      'the agent finds it within a minute; a rule drains and reboots it under a permit and then watches it for ten minutes; a rule in DryRun only shows it',
    watch: JOBS,
    ends: 'the reboot ends it: after a boot a kernel counts from zero',
  },
  disk: {
    effect:
      'the agent finds less than a tenth of the disk free within half a minute; after five minutes a rule has it remove old files of /var/tmp',
    watch: WHY,
    ends: 'the cleaning ends it; --undo also takes the small disk away',
  },
  clock: {
    effect:
      'the agent compares its clock with the API server every five minutes, and needs to find it off twice; a rule restarts the time service, and then reboots the node; a rule in DryRun only shows it',
    watch: WHY,
    ends: 'the reboot ends it: after a boot the clock is set from the hardware',
  },
}

/** What a part of the hardware says in /sys when it fails: each file of the node, and what is in it before and after. */
export const PARTS: Readonly<Partial<Record<Fault, PartFault>>> = {
  memory: {
    what: 'module DIMM_A1 counts an error that it could not correct',
    constant: { 'devices/system/edac/mc/mc0/dimm0/dimm_label': 'DIMM_A1' },
    counter: { file: 'devices/system/edac/mc/mc0/dimm0/dimm_ue_count', well: '0', broken: '1' },
  },
  card: {
    what: 'the card in slot 3b:00.0 counts a fatal PCIe error',
    constant: { 'bus/pci/devices/0000:3b:00.0/current_link_width': '16' },
    counter: {
      file: 'bus/pci/devices/0000:3b:00.0/aer_dev_fatal',
      well: 'TOTAL_ERR_FATAL 0',
      broken: 'TOTAL_ERR_FATAL 1',
    },
  },
}

export interface PartFault {
  readonly what: string
  readonly constant: Readonly<Record<string, string>>
  readonly counter: { readonly file: string; readonly well: string; readonly broken: string }
}
