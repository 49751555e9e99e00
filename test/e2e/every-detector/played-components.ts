// Two signed components of the played hosts: one that a fault stops, and a kubelet that renews its certificate when it starts and crashes while a file says so.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import type { RepairBench } from '#test/support/benches/repair-bench.ts'

export const CRASHES = 'run/kubelet-crashes'
export const KUBELET_CERTIFICATE = 'var/lib/kubelet/pki/kubelet-client-current.pem'
export const RENEWED = 'etc/renewed.pem'

const PROGRAMS = {
  hello: '#!/bin/sh\nwhile :; do sleep 1; done\n',
  kubelet: `#!/bin/sh
mkdir -p "$KUBENODE_ROOT/var/lib/kubelet/pki"
cp "$KUBENODE_ROOT/${RENEWED}" "$KUBENODE_ROOT/${KUBELET_CERTIFICATE}"
while [ ! -e "$KUBENODE_ROOT/${CRASHES}" ]; do sleep 0.2; done
exit 1
`,
}
const VERSION = '1.0.0'

/** The keys that agents have to trust. */
export async function publishComponents({ admin }: RepairBench, artifacts: string) {
  const publisher = newPublisher()
  mkdirSync(artifacts, { recursive: true })
  writeFileSync(join(artifacts, 'trust.json'), JSON.stringify(publisher.trust()))
  for (const [component, content] of Object.entries(PROGRAMS)) {
    const exec = `/opt/${component}/bin/${component}`
    const one = release(publisher, {
      component,
      version: VERSION,
      entries: [{ name: `bin/${component}`, content, mode: 0o755 }],
      spec: {
        service: { exec, restart: 'Always', killMode: 'Group' },
        probes: [{ name: 'there', file: { path: exec }, interval: '1s', timeout: '1s', settle: '1s' }],
      },
    })
    writeFileSync(join(artifacts, one.url), one.artifact)
    await admin.create(machineComponent, one.object)
  }
  return publisher.anchor
}

export const declareComponents = (bench: RepairBench, pool: Readonly<Record<string, string>>) =>
  bench.create(machineComponentSet, 'base', {
    selector: { matchLabels: pool },
    components: Object.keys(PROGRAMS).map((name) => ({ name, version: VERSION })),
  })
