package searchserver;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/** One Elasticsearch node, from the published server jars, in a folder: {@code Main HOME PORT}. */
public class Main {
    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]).toAbsolutePath();
        Files.createDirectories(home.resolve("config"));
        Files.createDirectories(home.resolve("plugins"));
        Settings settings = Settings.builder()
            .put("path.home", home)
            .put("path.data", System.getProperty("searchserver.data", home.resolve("data").toString()))
            .put("cluster.name", "search-test")
            .put("node.name", "one")
            .put("discovery.type", "single-node")
            .put("http.port", args[1])
            .put("transport.port", args.length > 2 ? args[2] : "0")
            .put("network.host", "127.0.0.1")
            .put("http.type", "netty4").put("transport.type", "netty4")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        LogConfigurator.configureWithoutConfig(Settings.builder().put("logger.level", "WARN").build());
        Environment env = InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), home.resolve("config"), () -> "one");
        PluginsLoader plugins = PluginsLoader.createPluginsLoader(
            PluginsLoader.loadModulesBundles(env.modulesDir()), PluginsLoader.loadPluginsBundles(env.pluginsDir()), Map.of(), false);
        Node node = new Node(env, plugins);
        CountDownLatch stopped = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try { node.close(); } catch (Exception e) { e.printStackTrace(); } finally { stopped.countDown(); }
        }));
        node.start();
        System.out.println("started " + args[1]);
        stopped.await();
    }
}
