// Checks a cluster before an installation, or an existing installation, and reports each check.
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { agentIdentityIn } from './agent-identity.ts'
import { failures, lineOf } from './checks/finding.ts'
import { checkedRelease } from './chosen-values.ts'
import type { InstallContext } from './context.ts'
import { checkCluster } from './install.ts'
import type { CheckOptions } from './install-options.ts'

/** Exits with 1 if a check failed. */
export async function reportChecks(options: CheckOptions, context: InstallContext, io: Io): Promise<void> {
  const release = await checkedRelease(options, io, context)
  const needsSigner =
    (agentIdentityIn(release.objects) ?? (options.pre === true ? 'certificate' : undefined)) === 'certificate'
  const findings = await checkCluster(context, release, { isInstalled: options.pre !== true, needsSigner })
  if (options.output === 'json') io.out(`${JSON.stringify(findings, undefined, 2)}\n`)
  else for (const f of findings) io.out(`${lineOf(f)}\n`)
  if (failures(findings).length > 0) throw new Exit(EXIT_DIFFERENT)
}
