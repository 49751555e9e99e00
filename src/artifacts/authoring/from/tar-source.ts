// A release archive as a source: a tar with any compression, or a single program or script. Its file name is its only metadata.
import { basename } from 'node:path'
import { defined } from '#lib/defined.ts'
import { parseElf } from '#lib/elf.ts'
import { isTarHead } from '../../oci/archive-entries.ts'
import type { FilePart } from '../../oci/unpacked-stream.ts'
import { FileTree } from './file-tree.ts'
import { digestOfFile, openedPart, readTree, sourceRefused, wholeFile, type Publisher, type Source } from './source.ts'

const HEAD_BYTES = 512

export async function tarSource(file: string): Promise<Source> {
  const part = wholeFile(file)
  const name = basename(file)
  const about = {
    kind: 'tar',
    name,
    sha256: await digestOfFile(file),
    layers: [part],
    facts: publisherInName(name),
  } as const
  const head = await headOf(part)
  if (isTarHead(head)) return { ...about, tree: await readTree([part]) }
  if (parseElf(head) === undefined) requireScript(file, head)
  const tree = new FileTree()
  tree.put({ kind: 'File', path: programName(name), layer: 0, mode: 0o755, size: part.length })
  return { ...about, tree, isProgram: true }
}

/** The kernel runs a script by its first line: an absolute interpreter path, and everything up to the end of the line counts. */
function requireScript(file: string, head: Buffer): void {
  const [line = ''] = head.toString('latin1').split('\n')
  if (!line.startsWith('#!'))
    throw sourceRefused(file, 'it is no tar archive and no program; a script begins with #!, such as #!/bin/sh')
  if (!/^#![ \t]*\//.test(line)) throw sourceRefused(file, 'its first line names no interpreter by its absolute path')
  if (line.endsWith('\r'))
    throw sourceRefused(
      file,
      'its lines end as on Windows, and no host finds its interpreter; convert it with dos2unix',
    )
}

async function headOf(part: FilePart): Promise<Buffer> {
  let head = Buffer.alloc(0)
  for await (const chunk of openedPart(part)) {
    head = Buffer.concat([head, chunk])
    if (head.length >= HEAD_BYTES) break
  }
  return head
}

const ARCH: Readonly<Record<string, string>> = { x86_64: 'amd64', aarch64: 'arm64' }
const ARCH_NAMES = /(?:^|[-_.])(amd64|x86_64|arm64|aarch64|riscv64|ppc64le|s390x)(?=[-_.]|$)/
const VERSION = /(?:^|[-_])v?(\d+\.\d+(?:\.\d+)?(?:-(?:alpha|beta|rc)\.?\d+)?)(?=[-_.]|$)/

/** `containerd-1.7.24-linux-amd64.tar.gz`, `cni-plugins-linux-amd64-v1.6.0.tgz`, `runc.amd64`. */
export function publisherInName(name: string): Publisher {
  const arch = ARCH_NAMES.exec(name)?.[1]
  const version = VERSION.exec(name.replace(/\.(?:tar(?:\.\w+)?|tgz|txz|tzst)$/, ''))?.[1]
  return {
    ...defined({ version }),
    ...(arch !== undefined && { arch: ARCH[arch] ?? arch }),
  }
}

/** `runc.amd64` is runc. */
const programName = (name: string): string => name.replace(ARCH_NAMES, '').replace(/[-_.]linux$/, '') || name
