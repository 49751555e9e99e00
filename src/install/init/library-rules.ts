// The rules that a new fleet gets from the library, by name: the release brings them, and `kubenode init` writes them. As copies: an imported rule would
// change with an upgrade of the hub, without a commit or a plan (docs/adr/0030-rules-of-a-new-fleet-are-copies.md).

/** Of the library in `rules/`, which the fleet gets as files of its own, with their cases. */
const LIBRARY_RULES: readonly string[] = [
  'certificates/certificate-expiry',
  'component/unwell-component',
  'kernel/kernel-deadlock',
  'node/not-ready',
  'node/runtime-unhealthy',
  'node/service-unhealthy',
  'storage/disk-space-low',
  'storage/read-only-filesystem',
]
const LIBRARY = 'rules'
/** A policy has no cases. */
const POLICIES: readonly string[] = ['defender/careful']
/** As they lie in the release and in the fleet. */
export const LIBRARY_FILES: readonly string[] = [
  ...LIBRARY_RULES.flatMap((rule) => [`${LIBRARY}/${rule}.ts`, `${LIBRARY}/${rule}.cases.ts`]),
  ...POLICIES.map((policy) => `${LIBRARY}/${policy}.ts`),
]
