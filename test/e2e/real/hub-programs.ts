// What a hub needs for control planes of real pods: images of the programs of this host on its nodes, and volumes that all of its nodes reach.
import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { importLayout, type RealNode } from '#test/support/servers/real/node.ts'
import { programsLayout } from '#test/support/servers/real/pause-image.ts'
import { programFile } from '#test/support/servers/real/programs.ts'
import { careProgram, REAL_ETCD } from '#test/support/worlds/kubernetes-host-world.ts'

const REGISTRY = 'kubenode.test'
/** Of every part of a control plane. */
const NONROOT = 65_532
export const PLANE_VERSION = '1.36.2'
export const STORAGE_CLASS = 'shared'

/** Of a node's containerd, and a folder that both it and the test see. */
export interface Images {
  readonly ctr: RealNode['ctr']
  readonly scratch: string
}

/** Its reference by digest, on the given machines. */
export async function putImage(
  folder: string,
  {
    name,
    programs,
    files,
    on,
  }: {
    readonly name: string
    readonly programs: readonly string[]
    readonly files?: readonly string[]
    readonly on: readonly Images[]
  },
): Promise<string> {
  const reference = `${REGISTRY}/${name}`
  const { layout, digest } = await programsLayout(join(folder, `image-${name}`), `${reference}:1`, programs, files)
  for (const { ctr, scratch } of on) {
    importLayout(ctr, scratch, layout)
    ctr('images', 'tag', '--force', `${reference}:1`, `${reference}@${digest}`)
  }
  return `${reference}@${digest}`
}

/** A row of the version file. */
export async function planeVersion(folder: string, on: readonly Images[]) {
  const image = (name: string, programs: readonly string[]) => putImage(folder, { name, programs, on })
  const tools = ['etcdctl', 'etcdutl'].map((name) => careProgram(name) ?? name)
  const images = {
    etcd: await image('etcd', [programFile('etcd'), ...tools]),
    apiserver: await image('kube-apiserver', [programFile('kube-apiserver')]),
    'controller-manager': await image('kube-controller-manager', [programFile('kube-controller-manager')]),
    scheduler: await image('kube-scheduler', [programFile('kube-scheduler')]),
  }
  return { version: PLANE_VERSION, etcd: REAL_ETCD, emulatesFrom: 34, images }
}

/** For three members and their snapshots; played by a folder that all nodes of the hub have. */
export function sharedVolumes(root: string): readonly object[] {
  const space = { accessModes: ['ReadWriteOnce', 'ReadWriteMany'], storageClassName: STORAGE_CLASS }
  const volumes = ['1Gi', '1Gi', '1Gi', '3Gi'].map((storage, n) => {
    const path = join(root, String(n))
    mkdirSync(path, { mode: 0o700 })
    chownSync(path, NONROOT, NONROOT)
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `shared-${n}` },
      spec: { ...space, capacity: { storage }, hostPath: { path }, persistentVolumeReclaimPolicy: 'Retain' },
    }
  })
  const type = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: STORAGE_CLASS },
    provisioner: 'kubernetes.io/no-provisioner',
  }
  return [type, ...volumes]
}
