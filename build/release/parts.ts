// What a release consists of, each part with the files that it puts into the folder. Equal commits give equal bytes.
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeArchives } from '#agent/join/archive.ts'
import { crdYaml } from '#api/gen/crd-yaml.ts'
import { KINDS } from '#api/kinds.ts'
import { buildHere } from '#install/image/build-here.ts'
import { ARCHITECTURES, type Architecture } from '#install/image/debian-lock.ts'
import { nodeFile } from '#install/image/node-layer.ts'
import { packRelease } from '#install/package/pack.ts'
import { defined } from '#lib/defined.ts'
import type { Io } from '#lib/terminal/io.ts'
import { nodeLibraries } from './node-libraries.ts'

export interface Workplace {
  /** The checkout. */
  readonly root: string
  /** Where the files go. */
  readonly folder: string
  /** Keeps packages that were fetched. */
  readonly cache: string
  /** Of Debian; the apt sources of this machine without it. */
  readonly mirror?: string
  readonly io: Io
}

interface Part {
  readonly what: string
  readonly make: (at: Workplace) => Promise<void>
}

export const PARTS = {
  manifests: { what: 'the manifests for kubectl, the kinds, and the alerts', make: makeManifests },
  package: { what: 'the npm package', make: makePackage },
  agent: { what: 'the agent for hosts, with its Node.js', make: makeAgent },
  image: { what: 'the image for amd64 and arm64', make: makeImage },
} as const satisfies Readonly<Record<string, Part>>
export type PartName = keyof typeof PARTS
export const PART_NAMES = Object.keys(PARTS) as readonly PartName[]

const COPIES: Readonly<Record<string, string>> = {
  'kubenode-install.yaml': 'deploy/install.yaml',
  'kubenode-monitoring.yaml': 'deploy/monitoring/monitoring.yaml',
}

async function makePackage({ folder }: Workplace): Promise<void> {
  await packRelease(folder)
}

async function makeManifests({ root, folder }: Workplace): Promise<void> {
  for (const [name, path] of Object.entries(COPIES)) copyFileSync(join(root, path), join(folder, name))
  writeFileSync(join(folder, 'kubenode-crds.yaml'), KINDS.map(crdYaml).join('---\n'))
}

async function makeAgent({ root, folder, cache, mirror }: Workplace): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'kubenode-release-'))
  try {
    const nodes: string[] = []
    const libraries: Partial<Record<Architecture, Awaited<ReturnType<typeof nodeLibraries>>>> = {}
    for (const architecture of ARCHITECTURES) {
      const node = join(scratch, `node-${architecture}`)
      writeFileSync(node, (await nodeFile(root, cache, architecture)).content())
      nodes.push(node)
      libraries[architecture] = await nodeLibraries(architecture, { root, cache, ...defined({ mirror }) })
    }
    await makeArchives({ root, out: folder, nodes, libraries })
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** As `kubenode image build` names it where no name is given. */
const IMAGE = 'kubenode.io/kubenode'

function makeImage({ folder, cache, mirror, io }: Workplace): Promise<void> {
  const output = join(folder, 'kubenode-image.tar')
  const flags = { output, arch: ARCHITECTURES.join(), name: IMAGE, cache, ...defined({ mirror }) }
  // Those who push it compare the digest; the folder that it was written to is only for now.
  const out = (text: string) => io.err(`digest of the image: ${(JSON.parse(text) as { digest: string }).digest}\n`)
  return buildHere(flags, { ...io, out })
}
