// What each number of a bench means, and what its reader does.
import type { Advice } from '#explain/errors/advice.ts'

export const benchAdvice: Advice = {
  KN9001: {
    cause: 'There is no such bench, it does not run on this server, or its argument cannot be read.',
    check: 'npm run bench, which lists them, and the head of the file of the bench',
    do: 'name one of these; write arguments as name=number, or server=real',
  },
  KN9003: {
    cause: 'A bench failed or reported no number.',
    check: 'bench/NAME.ts',
    do: 'repair it, or what it measures',
  },
  KN9006: {
    cause: 'A program of Kubernetes for benches is missing.',
    check: 'the folder that KUBEBUILDER_ASSETS names',
    do: 'put etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl there',
  },
  KN9008: {
    cause: 'A line of the history of benches cannot be read.',
    check: 'git log -p bench/history.jsonl',
    do: 'remove that line',
  },
  KN9020: {
    cause: 'The local fleet of a bench ended.',
    check: 'its last output in the message',
    do: 'correct what it reports, then run the bench again',
  },
}
