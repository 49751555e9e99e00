// kubectl does not find the local fleet by itself, so advice to type kubectl there includes its kubeconfig.
import { shownLine } from '#lib/printable.ts'
import { sharedVariable } from '#programs/run/shared-variables.ts'
import type { Place } from '#programs/run/unnamed-cluster.ts'

/** "use kubectl for others" is not a command line. */
const KUBECTL_LINE = /(type|;|:) kubectl /

/** One line; undefined if the output advises no kubectl, if the user named a kubeconfig, or if no fleet runs around the folder. */
export async function kubectlNeeds(output: string, argv: readonly string[], place: Place): Promise<string | undefined> {
  if (!KUBECTL_LINE.test(output) || isNamed(argv, place)) return undefined
  const { unnamedKubeconfigs } = await import('#programs/run/unnamed-cluster.ts')
  const [fleet] = await unnamedKubeconfigs({ env: {}, cwd: place.cwd })
  return fleet && shownLine(`(kubectl does not find ${fleet.called} by itself: export KUBECONFIG=${fleet.file})`)
}

const isNamed = (argv: readonly string[], { env }: Place): boolean =>
  argv.some((word) => word.split('=', 1)[0] === '--kubeconfig') ||
  [sharedVariable('kubeconfig'), 'KUBECONFIG'].some((name) => (env[name] ?? '') !== '')
