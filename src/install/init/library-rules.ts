// The library rules that a new fleet gets: shipped with the release and written by `kubenode init`. They are copies, because an imported rule would change with
// an upgrade of the hub, without a commit or a plan (docs/adr/0030-rules-of-a-new-fleet-are-copies.md).

/** From the library in `rules/`, copied into the fleet with their cases. */
const LIBRARY_RULES: readonly string[] = [
  'certificates/certificate-expiry',
  'component/crash-looping',
  'component/unwell-component',
  'hardware/broken-part',
  'hardware/stuck-part',
  'hardware/worn-part',
  'kernel/kernel-deadlock',
  'kernel/reboot-required',
  'kernel/tasks-hung',
  'memory/oom-storm',
  'node/not-ready',
  'node/runtime-unhealthy',
  'node/service-unhealthy',
  'node/silent',
  'storage/disk-pressure',
  'storage/disk-space-low',
  'storage/filesystem-read-only',
  'storage/filesystem-stalled',
  'storage/read-only-filesystem',
  'time/clock-skewed',
]
const LIBRARY = 'rules'
/** What rules and agents' configuration import. */
const DATA: readonly string[] = ['monitors/hardware', 'monitors/xid']
/** A policy has no cases. */
const POLICIES: readonly string[] = ['defender/careful', 'defender/control-planes']
/** Same paths in the release and in the fleet. */
export const LIBRARY_FILES: readonly string[] = [
  ...LIBRARY_RULES.flatMap((rule) => [`${LIBRARY}/${rule}.ts`, `${LIBRARY}/${rule}.cases.ts`]),
  ...[...DATA, ...POLICIES].map((name) => `${LIBRARY}/${name}.ts`),
]
