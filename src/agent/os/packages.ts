// Kernel packages with the tools of the distribution: dpkg and dnf, from local files only: nothing that was not signed is downloaded or installed.
import { KubeNodeError } from '#lib/errors.ts'
import { agentErrors } from '../agent-errors.ts'

interface FoundPackage {
  /** What removes it. */
  readonly name: string
  readonly version: string
  /** Undefined: it is not installed, or not whole. */
  readonly installed: string | undefined
  /** Nothing of it is there. */
  readonly isAbsent: boolean
}

/** Standard output, or undefined when the program failed. `mostBytes`: an answer that is longer is none; without it only the end is kept. */
export type Query = (command: readonly string[], mostBytes?: number) => Promise<string | undefined>
/** Why it failed; undefined when it did not. */
export type Change = (command: readonly string[]) => Promise<string | undefined>

export interface PackageTool {
  readonly program: string
  readonly find: (query: Query, file: string) => Promise<FoundPackage>
  readonly install: (files: readonly string[]) => readonly string[]
  readonly remove: (names: readonly string[]) => readonly string[]
  /** Completes what a power cut interrupted. */
  readonly repair?: readonly string[]
}

const unreadable = (file: string, program: string) =>
  new KubeNodeError(agentErrors.KN8097({ what: file, why: `${program} cannot read it` }), { retry: 'never' })

const DEB: PackageTool = {
  program: '/usr/bin/dpkg',
  async find(query, file) {
    const read = await query(['/usr/bin/dpkg-deb', '--show', '--showformat=${Package} ${Version}', file])
    const [name, version] = read?.trim().split(' ') ?? []
    if (name === undefined || version === undefined) throw unreadable(file, 'dpkg-deb')
    const format = '--showformat=${db:Status-Status} ${Version}'
    const [status, installed] = (await query(['/usr/bin/dpkg-query', '--show', format, name]))?.trim().split(' ') ?? []
    const isAbsent = status === undefined || status === 'not-installed'
    return { name, version, installed: status === 'installed' ? installed : undefined, isAbsent }
  },
  install: (files) => ['/usr/bin/dpkg', '--force-confold', '--install', ...files],
  remove: (names) => ['/usr/bin/dpkg', '--purge', ...names],
  repair: ['/usr/bin/dpkg', '--configure', '--pending'],
}

/** Several kernels share a name there, so the version is part of it. The limit would remove the oldest kernel. */
const RPM: PackageTool = {
  program: '/usr/bin/dnf',
  async find(query, file) {
    const format = '%{NAME} %{VERSION}-%{RELEASE}.%{ARCH}'
    const [name, version] =
      (await query(['/usr/bin/rpm', '--query', '--queryformat', format, '--package', file]))?.trim().split(' ') ?? []
    if (name === undefined || version === undefined) throw unreadable(file, 'rpm')
    const whole = `${name}-${version}`
    const isThere = (await query(['/usr/bin/rpm', '--query', whole])) !== undefined
    return { name: whole, version, installed: isThere ? version : undefined, isAbsent: !isThere }
  },
  install: (files) => [
    '/usr/bin/dnf',
    '--assumeyes',
    '--disablerepo=*',
    '--setopt=installonly_limit=0',
    '--setopt=install_weak_deps=False',
    'install',
    ...files,
  ],
  remove: (names) => ['/usr/bin/dnf', '--assumeyes', '--disablerepo=*', '--noautoremove', 'remove', ...names],
}

/** All files of one version have the same suffix. */
export const toolFor = (file: string): PackageTool => (file.endsWith('.rpm') ? RPM : DEB)
export const TOOLS: readonly PackageTool[] = [DEB, RPM]
