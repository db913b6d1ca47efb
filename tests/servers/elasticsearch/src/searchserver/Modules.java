package searchserver;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.core.WhitespaceTokenizer;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.it.ItalianAnalyzer;
import org.apache.lucene.analysis.it.ItalianLightStemFilter;
import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;
import org.apache.lucene.analysis.snowball.SnowballFilter;
import org.apache.lucene.analysis.util.ElisionFilter;
import org.elasticsearch.Build;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.cluster.metadata.IndexNameExpressionResolver;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.common.io.stream.NamedWriteableRegistry;
import org.elasticsearch.common.settings.ClusterSettings;
import org.elasticsearch.common.settings.IndexScopedSettings;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.common.settings.SettingsFilter;
import org.elasticsearch.env.Environment;
import org.elasticsearch.features.NodeFeature;
import org.elasticsearch.index.IndexSettings;
import org.elasticsearch.index.analysis.AbstractTokenFilterFactory;
import org.elasticsearch.index.analysis.PreBuiltAnalyzerProviderFactory;
import org.elasticsearch.index.analysis.PreConfiguredTokenFilter;
import org.elasticsearch.index.analysis.PreConfiguredTokenizer;
import org.elasticsearch.index.analysis.TokenFilterFactory;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.elasticsearch.indices.analysis.PreBuiltCacheFactory.CachingStrategy;
import org.elasticsearch.plugins.ActionPlugin;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestController;
import org.elasticsearch.rest.RestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;
import org.tartarus.snowball.ext.EnglishStemmer;
import org.tartarus.snowball.ext.ItalianStemmer;

/** What an English and Italian index needs of the modules that are not published: analysis-common and rest-root. */
public class Modules extends Plugin implements AnalysisPlugin, ActionPlugin {
    @Override
    public List<PreBuiltAnalyzerProviderFactory> getPreBuiltAnalyzerProviderFactories() {
        return List.of(
            new PreBuiltAnalyzerProviderFactory("english", CachingStrategy.ONE, EnglishAnalyzer::new),
            new PreBuiltAnalyzerProviderFactory("italian", CachingStrategy.ONE, ItalianAnalyzer::new));
    }

    @Override
    public List<PreConfiguredTokenFilter> getPreConfiguredTokenFilters() {
        return List.of(
            PreConfiguredTokenFilter.singleton("asciifolding", true, ASCIIFoldingFilter::new));
    }

    @Override
    public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        return Map.of(
            "stemmer", AnalysisPlugin.requiresAnalysisSettings(Stemmer::new),
            "elision", AnalysisPlugin.requiresAnalysisSettings(Elision::new));
    }

    @Override
    public List<PreConfiguredTokenizer> getPreConfiguredTokenizers() {
        return List.of(PreConfiguredTokenizer.singleton("whitespace", WhitespaceTokenizer::new));
    }

    static class Stemmer extends AbstractTokenFilterFactory {
        private final String language;

        Stemmer(IndexSettings index, Environment env, String name, Settings settings) {
            super(name);
            language = settings.get("language", settings.get("name", "english"));
            if (!List.of("english", "porter", "porter2", "italian", "light_italian").contains(language)) {
                throw new IllegalArgumentException("this test server stems English and Italian only, not " + language);
            }
        }

        @Override
        public TokenStream create(TokenStream tokens) {
            return switch (language) {
                case "italian" -> new SnowballFilter(tokens, new ItalianStemmer());
                case "light_italian" -> new ItalianLightStemFilter(tokens);
                case "porter2" -> new SnowballFilter(tokens, new EnglishStemmer());
                default -> new PorterStemFilter(tokens);
            };
        }
    }

    static class Elision extends AbstractTokenFilterFactory {
        private final CharArraySet articles;

        Elision(IndexSettings index, Environment env, String name, Settings settings) {
            super(name);
            articles = new CharArraySet(settings.getAsList("articles"), settings.getAsBoolean("articles_case", false));
        }

        @Override
        public TokenStream create(TokenStream tokens) {
            return new ElisionFilter(tokens, articles);
        }
    }

    @Override
    public Collection<RestHandler> getRestHandlers(Settings settings, NamedWriteableRegistry registry, RestController controller,
            ClusterSettings clusterSettings, IndexScopedSettings indexSettings, SettingsFilter filter,
            IndexNameExpressionResolver names, Supplier<DiscoveryNodes> nodes, Predicate<NodeFeature> features) {
        return List.of(new Root());
    }

    static class Root extends BaseRestHandler {
        @Override
        public String getName() {
            return "root";
        }

        @Override
        public List<Route> routes() {
            return List.of(new Route(RestRequest.Method.GET, "/"), new Route(RestRequest.Method.HEAD, "/"));
        }

        @Override
        protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) {
            return channel -> {
                XContentBuilder json = channel.newBuilder().startObject().field("name", "one").field("cluster_name", "search-test");
                json.startObject("version").field("number", Build.current().version()).endObject();
                channel.sendResponse(new RestResponse(RestStatus.OK, json.field("tagline", "You Know, for Search").endObject()));
            };
        }
    }
}
