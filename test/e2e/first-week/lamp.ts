// A user's own component, made as documented: a folder, a statement, packed and signed with their own key.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestFleet } from '../whole-way/fleet.ts'

const PORT = 18_282

/** `broken` ends with exit code 3 as soon as it starts; `deaf` runs and never answers well. */
export type Lamp = 'good' | 'broken' | 'deaf'

const program = (version: string, how: Lamp): string => `#!/usr/bin/env node
import http from 'node:http'
${how === 'broken' ? "console.error('lamp: no bulb in the socket'); process.exit(3)" : ''}
const server = http.createServer((_, response) => { response.writeHead(${how === 'deaf' ? 503 : 200}); response.end('${version}') })
server.listen(${PORT}, process.env.KUBENODE_ADDRESS ?? '127.0.0.1')
process.on('SIGTERM', () => process.exit(0))
`

const statement = (version: string) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineComponent',
  metadata: { name: `lamp.${version}` },
  spec: {
    component: 'lamp',
    version,
    type: 'Package',
    artifacts: [{ os: 'linux', arch: 'any', url: `lamp/lamp-${version}.tar`, sha256: '0'.repeat(64), size: 1 }],
    install: { unpack: { path: '/opt/lamp' } },
    service: { exec: '/opt/lamp/bin/lamp.mjs' },
    probes: [{ name: 'lit', http: { port: PORT, path: '/healthz' }, interval: '2s', timeout: '3s', settle: SETTLE }],
    disruption: 'Restart',
  },
})

/** Long enough to be killed in, short enough for a test. */
const SETTLE = '8s'

/** Declares a version and makes the set ask for it; the caller commits. */
export async function addLamp(fleet: TestFleet, version: string, how: Lamp): Promise<void> {
  const { repository } = fleet
  const folder = join(repository, 'fleet/components/lamp', version, 'bin')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'lamp.mjs'), program(version, how), { mode: 0o755 })
  const file = `fleet/components/lamp-${version}.json`
  writeFileSync(join(repository, file), JSON.stringify(statement(version), null, 2))
  const kubenode = join(fleet.checkout, 'bin/kubenode')
  const made = await fleet.run(
    `${kubenode} artifact pack fleet/components/lamp/${version} -f ${fleet.data}/lamp-${version}.tar --statement ${file} --url lamp/lamp-${version}.tar
     ${kubenode} artifact sign ${file} --key ${keyOf(fleet)}`,
    repository,
  )
  if (made.code !== 0) throw new Error(`the component cannot be made:\n${made.out}`)
  declare(repository, version)
}

export const keyOf = ({ data }: TestFleet): string => join(data, 'signing.pem')

function declare(repository: string, version: string): void {
  const name = `lamp${version.replaceAll('.', '')}`
  edit(join(repository, 'fleet/machines/components.ts'), (text) =>
    text.includes(name)
      ? text
      : replaced(
          replaced(
            text,
            /^import scribe100 .*$/m,
            (line) => `${line}\nimport ${name} from '../components/lamp-${version}.json' with { type: 'json' }`,
          ),
          /(?<=\bscribe100)(?=[,\]])/,
          () => `, ${name}`,
        ),
  )
  setVersion(repository, 'lamp', version)
}

export const edit = (path: string, change: (text: string) => string): void =>
  writeFileSync(path, change(readFileSync(path, 'utf8')))

/** A file of the fleet that was written in another way since is an error, and no commit without the change. */
export function replaced(text: string, from: RegExp, to: (found: string) => string): string {
  if (text.search(from) === -1) throw new Error(`${String(from)} not found in:\n${text}`)
  return text.replace(from, to)
}

export function setVersion(repository: string, component: string, version: string | undefined): void {
  edit(join(repository, 'fleet/clusters/versions.json'), (text) => {
    const { [component]: _, ...others } = JSON.parse(text) as Record<string, string>
    return `${JSON.stringify(version === undefined ? others : { ...others, [component]: version }, null, 2)}\n`
  })
}
