// The command line: the only place that reads argv and the environment.
process.stdout.write('kubenode\n')
