// `kubenode version`: the versions of the running programs, for bug reports and skew checks.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { outputOption } from '../../output.ts'
import { VERSION } from '#lib/program-version.ts'

export interface VersionInfo {
  readonly kubenode: string
  readonly node: string
  readonly platform: string
  readonly apiVersion: string
  readonly oldestKubernetes: string
}

export const versionInfo = (): VersionInfo => ({
  kubenode: VERSION,
  node: process.versions.node,
  platform: `${process.platform}/${process.arch}`,
  apiVersion: 'kubenode.io/v1alpha1',
  oldestKubernetes: '1.32',
})

export function register(program: Command, io: Io): void {
  program
    .command('version')
    .description('print the versions of kubenode and its environment')
    .addOption(outputOption(['json', 'yaml']))
    .action(async (options: { output?: string }) => {
      const info = versionInfo()
      if (options.output === 'json') io.out(`${JSON.stringify(info, null, 2)}\n`)
      else if (options.output === 'yaml') io.out((await import('yaml')).stringify(info))
      else
        io.out(
          `kubenode ${info.kubenode} (${info.apiVersion}, Node ${info.node}, ${info.platform}, Kubernetes ${info.oldestKubernetes} or newer)\n`,
        )
    })
}
