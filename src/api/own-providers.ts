// The providers that KubeNode brings; controllers serve others under the names of their remote providers.
export const OWN_PROVIDERS: readonly string[] = ['static', 'process', 'nspawn', 'hollow', 'alicloud', 'aws']
