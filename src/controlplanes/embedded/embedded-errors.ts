// The numbered errors of the host of control planes.
import { errorTable } from '#lib/error-table.ts'

export const embeddedErrors = errorTable({
  KN1090: {
    text: 'cannot run a control plane named {id}: not a namespace and a name with a dot between them',
    next: 'ask for it as namespace.name of its Cluster',
  },
  KN1091: {
    text: 'cannot read {file}: no record of the control plane in its folder',
    next: 'restore the file from a backup, or move its folder away and let the Cluster be made again',
  },
  KN1090_snapshot: {
    text: 'cannot name a snapshot {name}',
    next: 'use lowercase letters, digits, dots and dashes',
  },
  KN1093: {
    text: 'cannot ask the host of control planes at {socket}: {why}',
    next: 'check that kubenode apiserver runs there with --control-planes and --control-socket',
  },
  KN1097: {
    text: 'cannot run control planes of the programs in {folder}: {why}',
    next: 'name a folder with etcd, kube-apiserver and kube-controller-manager of one version of Kubernetes',
  },
})
