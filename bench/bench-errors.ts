// The numbered errors of bench.
import { errorTable } from '#lib/error-table.ts'

export const benchErrors = errorTable({
  KN9001: {
    text: 'cannot run {name}',
    next: 'use one of: {names}',
  },
  KN9001_argument: {
    text: 'cannot read the argument {arg}',
    next: 'write name=number, or server=real',
  },
  KN9003: {
    text: 'cannot report {key} of benchmark {name}: it is {value}',
    next: 'repair bench/{name}.ts',
  },
  KN9003_failed: {
    text: 'the benchmark failed: {why}',
    next: 'repair it, or what it measures',
  },
  KN9001_server: {
    text: 'cannot run {name} on the server {server}: it knows the embedded one only',
    next: 'leave server= out',
  },
  KN9006: {
    text: 'cannot start a real server: {why}',
    next: 'set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler',
  },
  KN9006_kubectl: {
    text: 'cannot find kubectl',
    next: 'put it into the folder that KUBEBUILDER_ASSETS names, or on the PATH',
  },
  KN9008: {
    text: 'cannot read line {line} of bench/history.jsonl',
    next: 'remove the line',
  },
  KN9020: {
    text: 'the local fleet {how}',
    next: 'it said last: {said}',
  },
})
